import CCurl
import Glibc

/// Process-wide setup of libcurl.
enum CurlLibrary {
    /// Runs curl_global_init once for the process; Swift initialises a static once, whichever threads use it.
    static let initialisation: CURLcode = curl_global_init(Int(CURL_GLOBAL_ALL))

    /// The system's directory of certificate authorities; nil if none is readable.
    ///
    /// CURLOPT_CAINFO replaces the system's bundle, but OpenSSL also reads CURLOPT_CAPATH. With the user's file as
    /// CAINFO and the system's directory as CAPATH, both are trusted. The two fallbacks are the directories of Debian
    /// and Fedora.
    static let systemAuthorities: String? = {
        var candidates = ["/etc/ssl/certs", "/etc/pki/tls/certs"]
        if let easy = curl_easy_init() {
            if let builtIn = outbox_curl_string_info(easy, CURLINFO_CAPATH) {
                candidates.insert(String(cString: builtIn), at: 0)
            }
            curl_easy_cleanup(easy)
        }
        return candidates.first { access($0, R_OK | X_OK) == 0 }
    }()
}

extension Duration {
    /// Whole nanoseconds, clamped to 0 … 10^18.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        if seconds < 0 || attoseconds < 0 { return 0 }
        if seconds > 1_000_000_000 { return 1_000_000_000_000_000_000 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
