import CCurl
import Glibc

/// What concerns libcurl as a whole.
enum CurlLibrary {
    /// curl_global_init runs once for the process; Swift runs the initialiser of a static once, whatever the threads.
    static let initialisation: CURLcode = curl_global_init(Int(CURL_GLOBAL_ALL))

    /// The system's directory of certificate authorities; nil where there is none.
    ///
    /// CURLOPT_CAINFO replaces the system's bundle, but OpenSSL looks in CURLOPT_CAPATH as well: a file of one's own
    /// there and the system's directory here are both trusted. The two fallbacks are where Debian and Fedora keep it.
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
    /// Whole nanoseconds, kept within what a UInt64 holds.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        if seconds < 0 || attoseconds < 0 { return 0 }
        if seconds > 1_000_000_000 { return 1_000_000_000_000_000_000 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
