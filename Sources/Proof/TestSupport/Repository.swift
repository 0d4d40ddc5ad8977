internal import Foundation

/// The files of this repository, which tests compare with the code.
public enum Repository {
    private static let root = (0..<4).reduce(URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()) { url, _ in
        url.deletingLastPathComponent()
    }

    /// Returns the absolute path of a file, for example of `docs/errors.md`.
    public static func path(_ name: String) -> String { root.appendingPathComponent(name).path }

    /// Returns the text of a file.
    public static func text(_ name: String) throws -> String {
        try String(contentsOfFile: path(name), encoding: .utf8)
    }
}
