import Glibc
import LinuxSystem
import SystemPackage
import Testing

@Suite("Packets with descriptors")
struct PacketSocketTests {
    private let near: SharedDescriptor
    private let far: SharedDescriptor

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        near = SharedDescriptor(Descriptor(owning: ends[0]))
        far = SharedDescriptor(Descriptor(owning: ends[1]))
    }

    @Test("arrive whole and in order, with other descriptors of the same files")
    func roundTrip() throws {
        let file = try SharedDescriptor(opening: "/dev/null", flags: O_RDONLY)
        try DescriptorPacket.send([1, 2, 3], with: [file, far, file, file], to: near.rawValue)
        try DescriptorPacket.send([4], to: near.rawValue)
        let first = try #require(try DescriptorPacket.receive(from: far.rawValue, longest: 3))
        #expect(first.bytes == [1, 2, 3] && !first.isCut)
        #expect(first.descriptors.count == 4)
        #expect(Set(first.descriptors.map(\.rawValue)).isDisjoint(with: [file.rawValue, far.rawValue]))
        for descriptor in first.descriptors { #expect(fcntl(descriptor.rawValue, F_GETFD) == FD_CLOEXEC) }
        #expect(try FileStatus(of: first.descriptors[0].rawValue).inode == FileStatus(of: file.rawValue).inode)
        let second = try #require(try DescriptorPacket.receive(from: far.rawValue, longest: 3))
        #expect(second.bytes == [4] && second.descriptors.isEmpty && !second.isCut)
    }

    @Test("that are too long are cut, and marked as cut")
    func cut() throws {
        try DescriptorPacket.send([1, 2, 3], to: near.rawValue)
        let packet = try #require(try DescriptorPacket.receive(from: far.rawValue, longest: 2))
        #expect(packet.bytes == [1, 2] && packet.isCut)
    }

    @Test("can't be empty or carry too many descriptors")
    func limits() throws {
        #expect(throws: Errno.invalidArgument) { try DescriptorPacket.send([], to: near.rawValue) }
        #expect(throws: Errno.invalidArgument) {
            try DescriptorPacket.send([1], with: Array(repeating: far, count: 5), to: near.rawValue)
        }
    }

    @Test("end when the peer shuts down, and can't be sent any more")
    func end() throws {
        shutdown(near.rawValue, Int32(SHUT_RDWR))
        let packet = try DescriptorPacket.receive(from: far.rawValue, longest: 2)
        #expect(packet?.bytes == nil)
        #expect(throws: Errno.brokenPipe) { try DescriptorPacket.send([1], to: far.rawValue) }
    }
}
