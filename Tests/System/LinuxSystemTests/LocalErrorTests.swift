import Glibc
import LinuxSystem
import SystemPackage
import Testing

@Suite("Errors of local files")
struct LocalErrorTests {
    @Test(
        "an error of a disk or file server passes",
        arguments: [
            EIO, EHOSTDOWN, ETIMEDOUT, ENOTCONN, ENOLINK, EHOSTUNREACH, ECONNABORTED, ECONNRESET, ENODEV, EREMOTEIO,
            4242,
        ], [LocalError.Call.open, .read])
    func away(code: CInt, call: LocalError.Call) {
        let meaning = LocalError(Errno(rawValue: code), of: call)
        #expect(meaning == .away && meaning.isPassing)
    }

    @Test("missing permission is final when a file is opened, and passes when it is read", arguments: [EACCES, EPERM])
    func permission(code: CInt) {
        #expect(!LocalError(Errno(rawValue: code)).isPassing)
        #expect(LocalError(Errno(rawValue: code), of: .read).isPassing)
    }

    @Test("lacking descriptors or memory, and a lease of another program, pass")
    func passing() {
        #expect([EMFILE, ENFILE, ENOMEM].allSatisfy { LocalError(Errno(rawValue: $0)) == .shortage })
        #expect(LocalError(.wouldBlock) == .busy)
        #expect(LocalError.shortage.isPassing && LocalError.busy.isPassing)
    }

    @Test("a name that leads to nothing, to something else, or is too long, is final")
    func final() {
        let meanings = [ENOENT, ENOTDIR, ELOOP, EISDIR, ENAMETOOLONG].map { LocalError(Errno(rawValue: $0)) }
        #expect(meanings == [.missing, .missing, .replaced, .replaced, .unusable])
        #expect(!meanings.contains { $0.isPassing })
    }
}
