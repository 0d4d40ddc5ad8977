import Glibc

/// Returns the path of the running program, as bytes (man 5 proc, /proc/pid/exe); nil if /proc is not mounted.
public func runningProgram() -> [UInt8]? {
    var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = path.withUnsafeMutableBytes { buffer in
        buffer.withMemoryRebound(to: CChar.self) { buffer in
            buffer.baseAddress.map { readlink("/proc/self/exe", $0, buffer.count) } ?? 0
        }
    }
    return count > 0 ? Array(path.prefix(count)) : nil
}
