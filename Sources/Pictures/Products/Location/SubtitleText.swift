/// Tells texts of a track of subtitles from data, which nobody can search for positions.
enum SubtitleText {
    /// Boxes behind a text, which tell how it looks (3GPP TS 26.245, 5.17; QuickTime File Format, text media).
    private static let styles: Set = [
        "styl", "hlit", "hclr", "krok", "dlay", "href", "tbox", "blnk", "twrp", "encd", "ftxt", "drpo", "drpt",
    ]
    /// The texts in a cue of WebVTT (ISO 14496-30, 7.4).
    private static let cueTexts: Set = ["payl", "sttg", "iden", "ctim", "vtta"]

    /// Whether samples consist of texts.
    ///
    /// - Parameters:
    ///   - samples: Samples, one after the other.
    ///   - format: The sample format of MP4 or QuickTime; nil if the samples are a text as a whole.
    static func isFound(in samples: [UInt8], format: String?) -> Bool {
        switch format {
        case "text", "tx3g": hasTexts(samples[...])
        case "wvtt": hasCues(samples[...])
        default: isText(samples[...])
        }
    }

    /// Each text has its length in front, and may have boxes behind.
    private static func hasTexts(_ samples: ArraySlice<UInt8>) -> Bool {
        var rest = samples
        while rest.count >= 2 {
            if let box = box(in: rest), styles.contains(box.type) {
                rest = rest.dropFirst(box.size)
            } else {
                let length = number(rest.prefix(2))
                let text = rest.dropFirst(2).prefix(length)
                guard text.count == length, isText(text) else { return false }
                rest = rest.dropFirst(2 + length)
            }
        }
        return rest.isEmpty || rest.first == 0
    }

    private static func hasCues(_ samples: ArraySlice<UInt8>, inCue: Bool = false) -> Bool {
        var rest = samples
        while !rest.isEmpty {
            guard let box = box(in: rest) else { return false }
            let content = rest.prefix(box.size).dropFirst(8)
            switch box.type {
            case "vttc" where !inCue: if !hasCues(content, inCue: true) { return false }
            case "vtte" where content.isEmpty: break
            case "vsid" where content.count == 4: break
            case let type where cueTexts.contains(type): if !isText(content) { return false }
            default: return false
            }
            rest = rest.dropFirst(box.size)
        }
        return true
    }

    private static func box(in bytes: ArraySlice<UInt8>) -> (type: String, size: Int)? {
        guard bytes.count >= 8, case let size = number(bytes.prefix(4)), size >= 8, size <= bytes.count else {
            return nil
        }
        return (String(decoding: bytes.dropFirst(4).prefix(4), as: UTF8.self), size)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    /// Whether bytes are UTF-8, or UTF-16 behind its mark, without control characters. Zeros may follow.
    private static func isText(_ bytes: ArraySlice<UInt8>) -> Bool {
        let isWide = bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE])
        let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? bytes.startIndex
        guard
            let text = isWide ? TelemetryText.text(of: Array(bytes)) : String(validating: bytes[..<end], as: UTF8.self)
        else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            (0x09...0x0D).contains(scalar.value) || scalar.properties.generalCategory != .control
                || isWide && scalar.value == 0
        }
    }
}
