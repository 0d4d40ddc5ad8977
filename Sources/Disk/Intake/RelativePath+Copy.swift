package import UploadCore

extension RelativePath {
    /// Returns the path of a numbered copy: `beach (2).jpg` for `beach.jpg`.
    ///
    /// A name that would exceed 255 bytes is cut at a character boundary before the number.
    ///
    /// - Parameter number: 1 returns the path itself.
    package func copy(_ number: Int) -> RelativePath {
        guard number > 1 else { return self }
        let name = Array(self.name)
        let dot = name.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 == 0 ? nil : $0 } ?? name.count
        let tail = Array(" (\(number))".utf8) + name[dot...]
        // A suffix of hundreds of bytes is not an extension.
        guard tail.count < SidecarName.longest / 2 else {
            let tail = Array(" (\(number))".utf8)
            return parent.appending(SidecarName.head(of: name, atMost: SidecarName.longest - tail.count) + tail)
        }
        let stem = Array(name[..<dot])
        return parent.appending(SidecarName.head(of: stem, atMost: SidecarName.longest - tail.count) + tail)
    }
}
