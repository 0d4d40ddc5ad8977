#if canImport(CVips)
    import CSandbox
    import Glibc
    import LinuxSystem
    import PictureJobs
    import SystemPackage

    /// Performs jobs one after the other, until the agent closes its end of the socket.
    struct Worker {
        /// The worker's end of a socket pair.
        let socket: Int32

        /// Sends the hello, then performs jobs.
        ///
        /// - Throws: `Errno` if the socket fails. An agent that has ended is no error.
        func run(_ hello: PictureHello) throws(Errno) {
            do throws(Errno) {
                try send(hello)
                while let answer = try nextAnswer() { try send(answer) }
            } catch {
                if error != .brokenPipe && error != .connectionReset { throw error }
            }
        }

        private func send(_ value: some PicturePacket) throws(Errno) {
            // Messages are short, so that every answer fits.
            guard let packet = try? PictureWire.packet(of: value) else { throw .messageTooLong }
            try DescriptorPacket.send(packet, to: socket)
        }

        /// The job's descriptors are closed before the answer is sent.
        private func nextAnswer() throws(Errno) -> PictureAnswer? {
            try DescriptorPacket.receive(from: socket, longest: PictureWire.longestPacket).map(answer)
        }

        private func answer(to packet: DescriptorPacket) -> PictureAnswer {
            guard !packet.isCut, let job = try? PictureWire.value(PictureJob.self, in: packet.bytes) else {
                return PictureAnswer(id: 0, outcome: .failed("the packet is not a valid job"))
            }
            outbox_limit_processor_time(PictureWire.processorSeconds)
            defer { outbox_limit_processor_time(0) }
            do throws(JobFailure) {
                return PictureAnswer(id: job.id, outcome: .done(try PictureTask(job, packet.descriptors).perform()))
            } catch {
                return PictureAnswer(id: job.id, outcome: error.outcome)
            }
        }
    }
#endif
