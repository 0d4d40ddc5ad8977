import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The network", .agents)
struct NetworkTests {
    @Test("at 60 KB/s, status shows bytes in flight, speed and time left before the first fragment arrives")
    func slowIsShown() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["upload.bandwidth_limit": 60_000])
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 3_000_000)
        let entry = try await Poll.value("bytes in flight and a speed", lastState: { agent.log }) {
            let entry = try await agent.entry("a.jpg")
            return (entry?["bytes_in_flight"] as? Int ?? 0) > 100_000 && entry?["speed"] is Int ? entry : nil
        }
        #expect(server.store.arrivals.isEmpty, "no fragment is through yet")
        #expect(entry["progress"] as? Double == 0, "progress is the server's word")
        #expect((entry["fragments"] as? [String: Int])?["finished"] == 0)
        #expect((1...200_000).contains(entry["speed"] as? Int ?? 0), "\(entry)")
        #expect((entry["eta"] as? Int ?? 0) > 5)
        let status = try await agent.command("status", "a.jpg").standardOutput
        #expect(status.contains("B/s") && !status.contains(" 0%"), "\(status)")
    }

    @Test(
        "after a link lost a reply, the upload resumes within seconds of its return, before any timeout",
        .enabled(if: Unshare.mayNetwork, "\(Unshare.why)"))
    func lostReply() async throws {
        let agent = try Agent(
            remote: "http://192.0.2.7:8787",
            // TCP keepalive would notice only after a minute.
            ["upload.stall_timeout": "10m", "upload.retry_interval": "10m", "remote.insecure_http": true],
            environment: ["OUTBOX_TOKEN": "sesame"])
        let directory = agent.directory
        try "sesame ann\n".write(toFile: directory.path("tokens"), atomically: true, encoding: .utf8)
        for name in ["commands", "ready"] { try #require(mkfifo(directory.path(name), 0o600) == 0) }
        // The receiver runs in its own network namespace at the other end of the link, and restarts after a kill.
        // Commands written into the FIFO run in the agent's namespace.
        let script = """
            ip link set lo up
            ip link add v0 type veth peer name v1
            ip addr add 192.0.2.1/24 dev v0 && ip link set v0 up
            unshare -n sh -c 'read -r line <"$2/ready"; ip addr add 192.0.2.7/24 dev v1; ip link set v1 up
                for life in 1 2; do
                    "$1" --root "$2/root" --listen 192.0.2.7:8787 --token-file "$2/tokens" &
                    echo $! >"$2/receiver-$life"
                    wait $!
                done' sh "$1" "$2" &
            while [ "$(readlink /proc/$!/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
            ip link set v1 netns $! && echo >"$2/ready"
            while read -r line; do sh -c "$line"; done <>"$2/commands" &
            shift 2
            exec "$@"
            """
        agent.launcher = [
            "/usr/bin/unshare", "-rn", "sh", "-c", script, "sh", try Program.path(of: "outbox-receiver"),
            directory.path,
        ]
        try await agent.start()
        try agent.drop("before.jpg", .jpeg, size: 20_000)
        try await agent.reached("before.jpg", .done)

        let descriptor = open(directory.path("commands"), O_WRONLY)
        defer { close(descriptor) }
        func say(_ line: String) {
            let bytes = Array((line + "\n").utf8)
            #expect(write(descriptor, bytes, bytes.count) == bytes.count)
        }
        let receiver = try String(contentsOfFile: directory.path("receiver-1"), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        /// Whether the receiver's kernel holds bytes that the receiver has not read yet.
        func holdsRequest() throws -> Bool {
            // The fields (man 5 proc): number, local and remote address, state, tx_queue:rx_queue.
            let lines = try String(contentsOfFile: "/proc/\(receiver)/net/tcp", encoding: .utf8).split(separator: "\n")
            return lines.dropFirst().map { $0.split(separator: " ") }.contains { fields in
                fields.count > 4 && fields[3] == "01" && !fields[4].hasSuffix(":00000000")
            }
        }
        // A stopped process: the kernel accepts and acknowledges a request.
        say("kill -STOP \(receiver)")
        try await Poll.until("the receiver to be stopped") {
            // The third field (man 5 proc_pid_stat), after a name without spaces.
            let fields = try String(contentsOfFile: "/proc/\(receiver)/stat", encoding: .utf8).split(separator: " ")
            return fields.count > 2 && fields[2] == "T"
        }
        try agent.drop("a.jpg", .jpeg, size: 20_000)
        try await Poll.until("a request that waits for its reply", lastState: { agent.log }) { try holdsRequest() }
        let asked = ContinuousClock.now
        // The receiver's end is signalled over a link that is down, so the agent cannot know that no reply will come.
        say("ip link set v0 down")
        say("kill -KILL \(receiver)")
        try await Poll.until("another receiver") {
            FileManager.default.fileExists(atPath: directory.path("receiver-2"))
        }
        // The agent keeps waiting for a reply only if the request is recent.
        try await Task.sleep(until: asked + .seconds(10))
        say("ip link set v0 up")
        let back = ContinuousClock.now
        try await agent.reached("a.jpg", .done)
        #expect(ContinuousClock.now - back < .seconds(30))
    }

    @Test("uploads work over IPv6", .enabled(if: Self.hasIPv6, "there is no ::1"))
    func ipv6() async throws {
        let directory = try TemporaryDirectory(prefix: "outbox-six")
        let program = try Program(
            "outbox-receiver", ["--root", directory.path("root"), "--listen", "[::1]:0"],
            environment: ["PATH": "/usr/bin:/bin", "HOME": directory.path], directory: directory.path,
            outputPrefix: directory.path("receiver"))
        defer { program.kill(SIGKILL) }
        let port = try await Poll.value("the receiver to listen", lastState: { program.errorTail() }) {
            program.standardOutput.split(separator: "\n").first?.split(separator: ":").last.flatMap { Int($0) }
        }
        let agent = try Agent(remote: "http://[::1]:\(port)")
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 700_000)
        try await agent.reached("a.jpg", .done)
    }

    private static let hasIPv6 =
        (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?
        .contains("00000000000000000000000000000001") == true

    @Test(
        "a file waits until the server's name resolves", .enabled(if: Unshare.mayMount, "\(Unshare.why)"))
    func nameComesLater() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: "http://upload.outbox.test:\(server.port)")
        let hosts = agent.directory.path("hosts")
        try "127.0.0.1 localhost\n".write(toFile: hosts, atomically: false, encoding: .utf8)
        try "nameserver 127.0.0.1\n".write(
            toFile: agent.directory.path("resolv.conf"), atomically: false, encoding: .utf8)
        agent.launcher = Unshare.mounting(
            ["hosts": "/etc/hosts", "resolv.conf": "/etc/resolv.conf"], in: agent.directory)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 700_000)
        let waiting = try await agent.reached("a.jpg", .waiting)
        #expect(waiting.error?.code == "dns")

        try "127.0.0.1 localhost upload.outbox.test\n".write(toFile: hosts, atomically: false, encoding: .utf8)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
    }

    @Test(
        "a new address of this machine starts an attempt at once, before the backoff ends",
        .enabled(if: Unshare.mayNetwork, "\(Unshare.why)"))
    func comesBack() async throws {
        let agent = try Agent(
            remote: "http://192.0.2.7:8787", ["upload.retry_interval": "10m", "remote.insecure_http": true],
            environment: ["OUTBOX_TOKEN": "sesame"])
        let directory = agent.directory
        try "sesame ann\n".write(toFile: directory.path("tokens"), atomically: true, encoding: .utf8)
        try #require(mkfifo(directory.path("commands"), 0o600) == 0)
        // A separate network for agent and receiver; commands written into the FIFO change it.
        let script = """
            ip link set lo up
            ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up
            "$1" --root "$2/root" --listen 0.0.0.0:8787 --token-file "$2/tokens" &
            while read -r line; do sh -c "$line"; done <>"$2/commands" &
            shift 2
            exec "$@"
            """
        agent.launcher = [
            "/usr/bin/unshare", "-rn", "sh", "-c", script, "sh", try Program.path(of: "outbox-receiver"),
            directory.path,
        ]
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        let waiting = try await agent.reached(
            "a.jpg", .waiting, timeout: .seconds(180),
            where: { Sidecar.date($0.next_attempt_at).map { $0.timeIntervalSinceNow > 20 } ?? false })
        let due = try #require(Sidecar.date(waiting.next_attempt_at))

        let descriptor = open(directory.path("commands"), O_WRONLY)
        defer { close(descriptor) }
        let line = Array("ip addr add 192.0.2.7/24 dev v0\n".utf8)
        #expect(write(descriptor, line, line.count) == line.count)

        let done = try await agent.reached("a.jpg", .done)
        #expect(try #require(Sidecar.date(done.finished_at)) < due)
    }
}

/// Runs programs in separate namespaces, if the machine allows it (man 1 unshare).
enum Unshare {
    static let why = "unshare(1) may not make name spaces here, or iproute2 is not installed"
    static let mayMount = succeeds("unshare", "-rm", "mount", "--bind", "/etc/hostname", "/etc/hosts")
    static let mayNetwork = succeeds("unshare", "-rn", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")

    /// Returns a command that starts a program with files of a directory mounted over others.
    static func mounting(_ files: [String: String], in directory: TemporaryDirectory) -> [String] {
        let mounts = files.sorted { $0.key < $1.key }.map { "mount --bind '\(directory.path($0.key))' '\($0.value)'" }
        return ["/usr/bin/unshare", "-rm", "sh", "-c", mounts.joined(separator: " && ") + " && exec \"$@\"", "sh"]
    }

    private static func succeeds(_ words: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
