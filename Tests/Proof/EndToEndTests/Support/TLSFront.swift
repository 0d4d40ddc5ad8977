import Foundation
import Glibc
import TestSupport
import Testing

/// TLS in front of a plain server: a certificate authority, a certificate from it, and a program that decrypts.
final class TLSFront {
    static let openssl = "/usr/bin/openssl"
    static let python = "/usr/bin/python3"
    static let isPossible = [openssl, python].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }

    /// The validity of a certificate.
    enum Validity: String, CaseIterable {
        case now, expired, notYet

        /// The beginning and end in the format of openssl-ca(1).
        var period: (String, String) {
            switch self {
            case .now: ("20200101000000Z", "20991231000000Z")
            case .expired: ("20200101000000Z", "20200102000000Z")
            case .notYet: ("20980101000000Z", "20991231000000Z")
            }
        }
    }

    let directory: TemporaryDirectory
    private var program: Program?
    private(set) var port: UInt16 = 0

    var authority: String { directory.path("ca.pem") }

    /// Creates the certificates and starts the program.
    ///
    /// - Parameters:
    ///   - server: The port of the plain server on 127.0.0.1.
    ///   - names: The subjectAltName of the certificate.
    init(before server: UInt16, names: String = "IP:127.0.0.1", validity: Validity = .now) async throws {
        directory = try TemporaryDirectory(prefix: "outbox-tls")
        try await makeAuthority()
        try await use(names: names, validity: validity)
        try Self.script.write(toFile: directory.path("front.py"), atomically: true, encoding: .utf8)
        let program = try Program(
            Self.python, ["-u", directory.path("front.py"), directory.path("server.pem"), "\(server)"],
            environment: [:], directory: directory.path, outputPrefix: directory.path("front"))
        self.program = program
        port = try await Poll.value("the port of the TLS front", lastState: { program.errorTail() }) {
            UInt16(program.standardOutput.split(separator: "\n").first ?? "")
        }
    }

    deinit { program?.kill(SIGKILL) }

    private func openssl(_ words: String...) async throws {
        let output = try await Program.run(Self.openssl, words, environment: [:], directory: directory.path)
        try #require(output.code == 0, "\(output.standardError)")
    }

    private func makeAuthority() async throws {
        try await openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj",
            "/CN=outbox test authority", "-addext", "keyUsage=keyCertSign", "-keyout", "ca.key", "-out", "ca.pem")
    }

    /// Creates the server's certificate for all later connections.
    func use(names: String, validity: Validity) async throws {
        let configuration = """
            [ca]
            default_ca = here
            [here]
            database = index.txt
            new_certs_dir = .
            rand_serial = yes
            unique_subject = no
            default_md = sha256
            policy = any
            x509_extensions = server
            [any]
            commonName = supplied
            [server]
            subjectAltName = \(names)
            """
        try configuration.write(toFile: directory.path("ca.cnf"), atomically: true, encoding: .utf8)
        try "".write(toFile: directory.path("index.txt"), atomically: true, encoding: .utf8)
        try await openssl(
            "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
            "/CN=outbox test server", "-keyout", "server.key", "-out", "server.csr")
        let (first, last) = validity.period
        try await openssl(
            "ca", "-batch", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-in", "server.csr", "-out",
            "server.crt", "-notext", "-startdate", first, "-enddate", last)
        let pem = try ["server.crt", "server.key"].map {
            try String(contentsOfFile: directory.path($0), encoding: .utf8)
        }
        try pem.joined().write(toFile: directory.path("server.pem"), atomically: true, encoding: .utf8)
    }

    private static let script = """
        import socket, ssl, sys, threading

        def copy(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
            except OSError:
                pass
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        def serve(client):
            try:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(sys.argv[1])
                client = context.wrap_socket(client, server_side=True)
                server = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
            except OSError:
                client.close()
                return
            back = threading.Thread(target=copy, args=(server, client), daemon=True)
            back.start()
            copy(client, server)
            back.join()
            client.close()
            server.close()

        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1])
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """
}
