import Glibc

/// How numbers stand for colours, in the code points of ITU-T H.273: of a cICP chunk or a `colr` box.
struct CodedColour {
    private let primaries: UInt8
    private let transfer: UInt8

    /// Takes two bytes of primaries and transfer, which others may follow; nil if they are fewer.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 2 else { return nil }
        primaries = bytes[0]
        transfer = bytes[1]
    }

    /// Returns the colours that a profile tells in its tag `cicp` (ICC.1:2022, 9.2.17); nil if it tells none.
    static func named(in profile: [UInt8]) -> CodedColour? {
        let bytes = Bytes(profile)
        let (header, entry) = (128, 12)
        guard let count = try? bytes.int(at: header, count: 4), count <= profile.count / entry else { return nil }
        for place in stride(from: header + 4, to: header + 4 + entry * count, by: entry)
        where (try? bytes.text(at: place, count: 4)) == "cicp" {
            guard let start = try? bytes.int(at: place + 4, count: 4), start + 10 <= profile.count else { return nil }
            return CodedColour(Array(profile[(start + 8)..<(start + 10)]))
        }
        return nil
    }

    /// Whether these are the colours of sRGB.
    var isSRGB: Bool { primaries == 1 && transfer == 13 }

    /// How light beyond white is coded; nil if it is not.
    var highDynamicRange: HighDynamicRange? { HighDynamicRange(rawValue: transfer) }

    /// Linear red, green and blue of BT.709, each as shares of the three own primaries; nil if the primaries are those,
    /// or unknown.
    var toBT709: [Double]? {
        switch primaries {
        // BT.2020, by ITU-R BT.2087.
        case 9: [1.6605, -0.5876, -0.0728, -0.1246, 1.1329, -0.0083, -0.0182, -0.1006, 1.1187]
        // Display P3.
        case 12: [1.2249, -0.2249, 0, -0.0421, 1.0421, 0, -0.0196, -0.0786, 1.0983]
        default: nil
        }
    }

    /// Transfer functions of high dynamic range (ITU-R BT.2100).
    enum HighDynamicRange: UInt8 {
        /// Perceptual quantizer.
        case pq = 16
        /// Hybrid log-gamma.
        case hlg = 18

        /// Returns the linear light for a code from 0 to 1, where 1 is the white of standard range, and brighter light is
        /// compressed to stay below 1.
        func shown(_ code: Double) -> Double {
            let light = nits(code) / Self.white
            // Up to the knee nothing changes, so that most of a picture looks as it does in standard range.
            let knee = 0.6
            return light <= knee ? light : knee + (1 - knee) * (1 - exp(-(light - knee) / (1 - knee)))
        }

        /// The white of a page, in candela per square metre (ITU-R BT.2408).
        private static let white = 203.0

        private func nits(_ code: Double) -> Double {
            switch self {
            case .pq:
                let power = pow(code, 32 / 2523.0)
                let (c1, c2, c3) = (3424 / 4096.0, 2413 / 128.0, 2392 / 128.0)
                return 10_000 * pow(max(power - c1, 0) / (c2 - c3 * power), 16384 / 2610.0)
            case .hlg:
                let (a, b, c) = (0.17883277, 0.28466892, 0.55991073)
                let scene = code <= 0.5 ? code * code / 3 : (exp((code - c) / a) + b) / 12
                // A display of 1000 candela per square metre.
                return 1000 * pow(scene, 1.2)
            }
        }
    }
}
