import CLinux
import Glibc
import LinuxSystem
import Processes
import SystemPackage

/// A running exiftool, which performs one command after the other (man 1 exiftool, -stay_open). Belongs to the thread
/// that started it.
///
/// The process reads only the system's files, its directory, and one open file. It writes only in its directory.
final class ExifToolSession {
    /// The descriptor of the file that a session may have been started with, as exiftool sees it.
    static let openFile = "/proc/self/fd/3"

    /// exiftool's current memory in bytes.
    var memory: Int { resident.bytes }

    private let process: LimitedProcess
    private let commands: SharedDescriptor
    private let output: OutputPipe
    private let errors: OutputPipe
    private let resident: ResidentMemory
    private var number = 0
    private var tail = TextTail()

    /// Starts exiftool.
    ///
    /// - Parameters:
    ///   - program: Absolute path.
    ///   - directory: Absolute path of a private directory.
    ///   - file: A file that commands read as ``openFile``.
    init(program: String, directory: String, file: SharedDescriptor? = nil) throws(ProductFailure) {
        do {
            output = try OutputPipe()
            errors = try OutputPipe()
            var ends: [Int32] = [-1, -1]
            try retryingOnInterrupt { pipe2(&ends, O_CLOEXEC) }
            let reading = SharedDescriptor(Descriptor(owning: ends[0]))
            commands = SharedDescriptor(Descriptor(owning: ends[1]))
            // Without `-config ""` exiftool would run the Perl code of ~/.ExifTool_config.
            let work = try SharedDescriptor(opening: directory, flags: O_RDONLY | O_DIRECTORY)
            let command = ProcessCommand(
                program: program, arguments: ["-config", "", "-stay_open", "True", "-@", "-"],
                descriptors: [reading, output.writing, errors.writing] + (file.map { [$0] } ?? []),
                limits: ProcessLimits(addressSpace: 1 << 30, fileSize: 8 << 30),
                confinement: Confinement(
                    program: program, readable: file.map { [$0] } ?? [], writable: [work],
                    readablePaths: Self.libraries(of: program)))
            process = try LimitedProcess(command)
            resident = ResidentMemory(of: process.pid)
        } catch {
            throw .failed(StartFailure(error, starting: program).description)
        }
    }

    /// Whether exiftool has ended on its own, or somebody killed it.
    var hasEnded: Bool { waitUntilReadable([process.pollDescriptor], deadline: 0)[0] }

    /// Kills exiftool.
    func end() { process.end() }

    /// Performs a command and waits for its end.
    ///
    /// - Parameters:
    ///   - arguments: Must not contain line breaks.
    ///   - seconds: Limit of the elapsed time.
    ///   - line: Receives each line of the output.
    /// - Throws: ``ProductFailure``, also if a line is over 1 MiB; the session can't be used any more.
    func run(
        _ arguments: [String], within seconds: Int, _ cancellation: Cancellation,
        line: (ArraySlice<UInt8>) -> Void = { _ in }
    ) throws(ProductFailure) {
        number += 1
        let deadline = monotonicNanoseconds() + UInt64(seconds) * 1_000_000_000
        cancellation.watch(process)
        defer { cancellation.watch(nil) }
        try cancellation.check()
        do {
            let text = (arguments + ["-execute\(number)"]).map { $0 + "\n" }.joined()
            try writeAll(Array(text.utf8), to: commands.rawValue)
        } catch {
            // exiftool has not read the command, so the file is not at fault.
            let failure = ended(cancellation)
            if case .refused(let reason) = failure { throw .failed(reason) }
            throw failure
        }
        var lines = LineSplitter()
        let mark = Array("{ready\(number)}".utf8)
        var isReady = false
        while !isReady {
            let ready = waitUntilReadable(
                [process.pollDescriptor, output.reading.rawValue, errors.reading.rawValue], deadline: deadline)
            _ = errors.drain { tail.append($0) }
            _ = output.drain { piece in
                lines.split(piece) { found in
                    if found.elementsEqual(mark) { isReady = true } else { line(found) }
                }
            }
            if lines.isCut { throw .refused("exiftool printed a line that is too long to be searched") }
            if isReady { return }
            if ready[0] { throw ended(cancellation) }
            if monotonicNanoseconds() >= deadline {
                process.end()
                throw .tookTooLong("exiftool took over \(seconds) s and was killed")
            }
        }
    }

    private func ended(_ cancellation: Cancellation) -> ProductFailure {
        let ending = process.end()
        _ = errors.drain { tail.append($0) }
        if cancellation.isCancelled { return .cancelled }
        let said = tail.lastLine.isEmpty ? "" : ": \(tail.lastLine)"
        switch ending {
        // The dynamic linker or perl misses a file; such an exiftool fails on every file.
        case .exited(127), .exited(2): return .failed("exiftool ended with \(ending)\(said)")
        // Somebody else, such as the kernel that is out of memory.
        case .killed: return .failed("exiftool ended with \(ending)\(said)")
        case .exited: break
        }
        return .refused("exiftool ended with \(ending)\(said)")
    }

    /// Where an exiftool that no package installed keeps its library, and Debian's Perl its settings. Perl refuses to go
    /// on if it may not look into one of its directories.
    private static func libraries(of program: String) -> [String] {
        let resolved = realpath(program, nil)
        defer { free(resolved) }
        let path = resolved.map { String(cString: $0) } ?? program
        return ["/etc/perl", path.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/lib"]
    }
}

/// Splits a stream of bytes into lines.
private struct LineSplitter {
    private static let longest = 1 << 20
    private var rest: [UInt8] = []
    /// Whether a line was too long, so that its end is missing.
    private(set) var isCut = false

    mutating func split(_ piece: ArraySlice<UInt8>, _ take: (ArraySlice<UInt8>) -> Void) {
        var piece = piece
        while let end = piece.firstIndex(of: UInt8(ascii: "\n")) {
            append(piece[..<end])
            take(rest[...])
            rest.removeAll(keepingCapacity: true)
            piece = piece[(end + 1)...]
        }
        append(piece)
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        rest.append(contentsOf: bytes.prefix(Self.longest - rest.count))
        if rest.count == Self.longest { isCut = true }
    }
}
