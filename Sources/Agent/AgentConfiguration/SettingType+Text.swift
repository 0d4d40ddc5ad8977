import PictureJobs
import Text
import URLs

// Types of keys that are written as strings or arrays of strings.

extension SettingType<String> {
    /// A path, which becomes absolute.
    static let path = SettingType(string: "path") { text, resolver throws(Objection) in
        try resolver.resolve(text)
    } show: {
        $0
    }

    /// A directory inside the outbox.
    static let outboxFolder = SettingType(string: "relative path") { text, _ throws(Objection) in
        try PathResolver.insideOutbox(text)
    } show: {
        $0
    }

    /// An absolute URL.
    static let webAddress = SettingType(string: "URL") { text, _ throws(Objection) in
        _ = try WebAddress(text)
        return text
    } show: {
        $0
    }

    /// A string without further interpretation, of at most 1024 bytes.
    static let plain = SettingType(string: "string") { text, _ throws(Objection) in
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }), text.utf8.count <= 1024
        else { throw Objection("must be at most 1024 bytes without control characters") }
        return text
    } show: {
        $0
    }

    /// A loopback address with a port; `""` for none.
    static let loopbackAddress = SettingType(string: "loopback address and port, or `\"\"`") {
        text, _ throws(Objection) in
        if text.isEmpty { return text }
        let authority = Authority(text[...])
        guard let port = authority.portNumber else {
            throw Objection("must be an address and a port such as \"127.0.0.1:8788\", is \(text.shortened.quoted)")
        }
        guard authority.userInfo == nil, HostName.isLoopback(authority.host) else {
            throw Objection("must be a loopback address such as \"127.0.0.1:\(port)\", is \(text.shortened.quoted)")
        }
        return text
    } show: {
        $0
    }

    /// The path of a Unix socket.
    static let socketPath = SettingType(string: "path") { text, resolver throws(Objection) in
        let path = try resolver.resolve(text)
        guard path.utf8.count <= Configuration.longestSocketPath else {
            throw Objection("must be at most \(Configuration.longestSocketPath) bytes, or no socket can have that name")
        }
        return path
    } show: {
        $0
    }
}

extension SettingType {
    /// An array of strings.
    init<Element: Sendable>(
        list name: String, separators: Set<Character>,
        read: @escaping @Sendable (String) throws(Objection) -> Element,
        show: @escaping @Sendable (Element) -> String
    ) where Value == [Element] {
        self.init(form: .list(separators: separators), name: name) { value, _ throws(Objection) in
            guard case .list(let values) = value else { throw .wrongType(value, expected: "an array of strings") }
            var elements: [Element] = []
            for (index, value) in values.enumerated() {
                guard case .string(let text) = value else {
                    throw Objection("must be a string, is \(value.typeName)", element: index)
                }
                do throws(Objection) {
                    elements.append(try read(text))
                } catch {
                    throw Objection(error.reason, element: index)
                }
            }
            return elements
        } show: {
            .list($0.map { .string(show($0)) })
        }
    }
}

extension SettingType<[GlobPattern]> {
    static let patterns = SettingType(list: "array of patterns", separators: [",", " "]) { text throws(Objection) in
        guard let pattern = GlobPattern(text) else {
            throw Objection("\(text.shortened.quoted) is not a pattern for file names: use *, ? and […], no /")
        }
        return pattern
    } show: {
        $0.description
    }
}

extension SettingType<[String]> {
    /// Host names, names with `*.` in front for all hosts below, or addresses; in canonical form.
    static let hosts = SettingType(list: "array of host names", separators: [",", " "]) { text throws(Objection) in
        guard let pattern = try? HostPattern(text) else {
            throw Objection(
                "\(text.shortened.quoted) is not a host: write a name such as \"img.example.org\", "
                    + "\"*.example.org\" for all names below, or an address, without scheme, port or path")
        }
        return pattern.text
    } show: {
        $0
    }
}

extension SettingType<[PictureStep]> {
    /// The steps of a style. In an environment variable only spaces separate them, since `round` contains commas.
    static let style: SettingType = {
        let steps = SettingType<[PictureStep]>(list: "array of steps", separators: [" "]) { text throws(Objection) in
            guard let step = PictureStep(text) else {
                throw Objection(
                    "\(text.shortened.quoted) is not a step: write \"original\", \"rect:96x96\" or \"round:96x96,r=48,b=2\""
                )
            }
            return step
        } show: {
            $0.description
        }
        return SettingType(form: .list(separators: [" "]), name: steps.name) { value, resolver throws(Objection) in
            let steps = try steps.read(value, resolver)
            guard (1...16).contains(steps.count) else { throw Objection("must have 1 … 16 steps") }
            return steps
        } show: {
            steps.show($0)
        }
    }()
}
