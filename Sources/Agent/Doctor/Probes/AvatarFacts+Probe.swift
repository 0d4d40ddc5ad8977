import ControlAPI
import Glibc
import LinuxSystem

extension PlaceholderFacts {
    /// Reads the file; a nil path means that no placeholder is configured.
    init(probing path: String?) {
        self = .usable
        guard let path else { return }
        do throws(PlaceholderPicture.Unusable) {
            _ = try PlaceholderPicture(path: path)
        } catch {
            self = .unusable(path: path, reason: error.reason)
        }
    }
}

extension CurrentPictureFacts {
    /// Examines the link and its target.
    init(probing path: String) {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &buffer, buffer.count)
        guard count >= 0 else {
            // man 2 readlink, EINVAL: the name exists and is no symbolic link.
            self = errno == EINVAL ? .foreign : .none
            return
        }
        let target = String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        let isPicture = (try? FileStatus(path: path))?.kind == .regular
        self = isPicture ? .picture(target: target) : .broken(target: target)
    }
}
