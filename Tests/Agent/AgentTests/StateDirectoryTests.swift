import ControlAPI
import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import Agent

@Suite("State directory")
struct StateDirectoryTests {
    private let place: TemporaryDirectory

    init() throws {
        place = try TemporaryDirectory()
    }

    @Test("is created with its parents, accessible to its owner only")
    func makes() throws {
        let state = try StateDirectory(path: place.path("a/b/state"))
        #expect(try FileStatus(path: place.path("a/b/state")).permissions == 0o700)
        #expect(try FileStatus(path: place.path("a/b/state/lock")).permissions == 0o600)
        withExtendedLifetime(state) {}
    }

    @Test("is closed to other users if it was open")
    func tightens() throws {
        chmod(place.path, 0o755)
        let state = try StateDirectory(path: place.path)
        #expect(try FileStatus(path: place.path).permissions == 0o700)
        withExtendedLifetime(state) {}
    }

    @Test("has one owner, whose pid a second agent reports")
    func oneOwner() throws {
        let first = try StateDirectory(path: place.path)
        #expect(throws: AgentFailure.alreadyRunning(pid: getpid(), stateDirectory: place.path)) {
            try StateDirectory(path: place.path)
        }
        withExtendedLifetime(first) {}
    }

    @Test("is free again when its owner has ended")
    func free() throws {
        do { _ = try StateDirectory(path: place.path) }
        _ = try StateDirectory(path: place.path)
    }

    @Test("waits for a lock that a child process of a dead agent still holds")
    func leftBehind() throws {
        try Data("1999999999\n".utf8).write(to: URL(fileURLWithPath: place.path("lock")))
        let held = try SharedDescriptor(opening: place.path("lock"), flags: O_RDWR, mode: 0)
        #expect(flock(held.rawValue, LOCK_EX | LOCK_NB) == 0)
        let lock = place.path("lock")
        let release = Thread {
            // Release the lock once a second descriptor is open, so that its owner is about to wait.
            while Self.descriptors(of: lock) < 2 { sched_yield() }
            flock(held.rawValue, LOCK_UN)
        }
        release.start()
        _ = try StateDirectory(path: place.path)
    }

    /// Returns the number of this process's descriptors for a file.
    private static func descriptors(of path: String) -> Int {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return numbers.count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
        }
    }

    @Test("names the obstacle")
    func inTheWay() throws {
        try Data().write(to: URL(fileURLWithPath: place.path("file")))
        for path in [place.path("file"), place.path("file/state")] {
            #expect { try StateDirectory(path: path) } throws: { error in
                if case AgentFailure.cannotCreate(path, _) = error { true } else { false }
            }
        }
    }
}
