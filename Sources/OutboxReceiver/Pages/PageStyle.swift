/// The style sheet of all pages.
enum PageStyle {
    /// The Base64 of the sheet's SHA-256, which the content security policy allows.
    static let digest = base64(RunningSHA256.hash(text))

    static let text = """
        :root{color-scheme:light dark;--page:#fbfaf8;--text:#1d1c1a;--soft:#6b6760;--box:#efece7;--accent:#1f5f8b}
        @media (prefers-color-scheme:dark){
        :root{--page:#161618;--text:#ececee;--soft:#9c9ca3;--box:#242428;--accent:#8cc4ee}}
        *{box-sizing:border-box}
        body{margin:0 auto;max-width:68rem;padding:clamp(1.5rem,5vw,4rem) clamp(.75rem,4vw,2.5rem) 4rem;
        background:var(--page);color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
        header{margin-bottom:clamp(1.25rem,3vw,2rem)}
        h1{margin:0 0 .35rem;font-size:clamp(1.75rem,1.1rem + 2.6vw,3rem);line-height:1.15;font-weight:650;
        letter-spacing:-.015em;overflow-wrap:anywhere;text-wrap:balance}
        h1.long{font-size:clamp(1.2rem,1rem + 1vw,1.6rem);line-height:1.3;letter-spacing:0;text-wrap:pretty}
        .facts{margin:0;color:var(--soft);overflow-wrap:anywhere}
        .facts>*{direction:ltr;unicode-bidi:isolate}
        a{color:var(--accent);text-underline-offset:.15em}
        a:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
        img,video{display:block;color:var(--soft)}
        figure{margin:0}
        .cover{position:relative;display:flex;justify-content:center;background:var(--box);border-radius:14px;overflow:hidden;
        min-height:10rem;margin-bottom:clamp(.5rem,1.2vw,.85rem);text-decoration:none}
        .cover img,.cover video{max-width:100%;max-height:82vh;object-fit:contain;margin:auto}
        .grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(46%,15rem),1fr));grid-auto-flow:dense;
        gap:clamp(.5rem,1.2vw,.85rem)}
        .grid>a{position:relative;display:grid;place-content:center;aspect-ratio:4/3;border-radius:10px;overflow:hidden;background:var(--box);text-decoration:none}
        .grid>a>img{position:absolute;width:100%;height:100%;object-fit:cover;transition:transform .25s ease}
        .grid>a:hover>img{transform:scale(1.03)}
        picture{display:contents}
        .name{position:absolute;inset:0;display:grid;place-content:center;justify-items:center;padding:1rem;text-align:center;
        color:var(--soft);overflow-wrap:anywhere}
        .name+picture img{position:relative;width:auto;height:auto;max-width:100%}
        .film{display:flex;flex-direction:column;background:var(--box);border-radius:10px;overflow:hidden;min-width:0}
        .film video{width:100%;background:#000;aspect-ratio:16/9;object-fit:contain}
        .grid .film{grid-column:span 2;grid-row:span 2}
        .grid .film video{flex:1 1 auto;min-height:0}
        figcaption,.files li{display:flex;gap:.75rem;justify-content:space-between;align-items:baseline;padding:.5rem .85rem}
        figcaption a,.files a{overflow-wrap:anywhere;min-width:0}
        small{color:var(--soft);font-size:.875rem;white-space:nowrap}
        .files{list-style:none;margin:clamp(1rem,2.5vw,1.75rem) 0 0;padding:.35rem 0;background:var(--box);border-radius:10px}
        .files li+li{border-top:1px solid var(--page)}
        @media (prefers-reduced-motion:reduce){.grid>a>img{transition:none}}
        """

    /// Encodes bytes as Base64 (RFC 4648, section 4).
    private static func base64(_ bytes: some Sequence<UInt8>) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> count & 63)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 63)]) }
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }
}
