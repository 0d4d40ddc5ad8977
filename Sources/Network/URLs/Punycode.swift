/// International labels of host names in ASCII (RFC 3492).
///
/// No library does this: a picture's place in the mirror follows from its host, so the encoding must be the same on
/// every machine, in every locale and after every update. docs/rooms/network-and-watch.md compares it with libidn2 and
/// libcurl.
enum Punycode {
    // RFC 3492, section 5.
    private static let base = 36
    private static let thresholds = 1...26
    private static let skew = 38
    private static let damp = 700
    private static let firstBias = 72
    private static let firstCode = 0x80

    /// Encodes a label, without the prefix `xn--`.
    ///
    /// - Returns: nil if the label is so long that the algorithm overflows.
    static func encode(_ label: String) -> String? {
        let codes = label.unicodeScalars.map { Int($0.value) }
        var output = codes.filter { $0 < firstCode }.map { UInt8($0) }
        let basic = output.count
        var handled = basic
        if basic > 0 { output.append(UInt8(ascii: "-")) }
        var (next, delta, bias) = (firstCode, 0, firstBias)
        while handled < codes.count {
            guard let code = codes.filter({ $0 >= next }).min() else { return nil }
            let (step, isBeyond) = (code - next).multipliedReportingOverflow(by: handled + 1)
            guard !isBeyond, delta <= Int(Int32.max) - step else { return nil }
            delta += step
            next = code
            for other in codes {
                if other < next { delta += 1 }
                if other != next { continue }
                append(delta, bias: bias, to: &output)
                bias = adapted(delta, count: handled + 1, isFirst: handled == basic)
                delta = 0
                handled += 1
            }
            delta += 1
            next += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Appends a generalized variable-length integer (section 6.3).
    private static func append(_ delta: Int, bias: Int, to output: inout [UInt8]) {
        var number = delta
        var weight = base
        while true {
            let threshold = min(max(weight - bias, thresholds.lowerBound), thresholds.upperBound)
            if number < threshold { break }
            output.append(digit(threshold + (number - threshold) % (base - threshold)))
            number = (number - threshold) / (base - threshold)
            weight += base
        }
        output.append(digit(number))
    }

    private static func digit(_ value: Int) -> UInt8 {
        UInt8(value < 26 ? Int(UInt8(ascii: "a")) + value : Int(UInt8(ascii: "0")) + value - 26)
    }

    /// Bias adaptation (section 6.1).
    private static func adapted(_ delta: Int, count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / damp : delta / 2
        delta += delta / count
        var bias = 0
        while delta > (base - thresholds.lowerBound) * thresholds.upperBound / 2 {
            delta /= base - thresholds.lowerBound
            bias += base
        }
        return bias + (base - thresholds.lowerBound + 1) * delta / (delta + skew)
    }
}
