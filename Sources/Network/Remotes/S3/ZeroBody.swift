import Synchronization
import Transport

/// A body of zeros.
final class ZeroBody: BodySource {
    let length: UInt64
    private let rest: Mutex<UInt64>

    init(length: UInt64) {
        self.length = length
        rest = Mutex(length)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        rest.withLock { rest in
            let count = Int(min(rest, UInt64(buffer.count)))
            rest -= UInt64(count)
            if count > 0 {
                UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 0)
            }
            return count
        }
    }

    func rewind() { rest.withLock { $0 = length } }
}
