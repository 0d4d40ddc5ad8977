/// A style sheet, and what allows it in a content security policy.
struct PageStyle {
    let text: String
    /// The Base64 of the sheet's SHA-256.
    let digest: String

    private init(_ text: String) {
        self.text = text
        digest = Self.base64(RunningSHA256.hash(text))
    }

    /// The sheet of posts.
    static let post = PageStyle(common)

    /// The sheet of the page at the server's own address.
    static let home = PageStyle(common + "\n" + lists)

    private static let common = """
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
        .cover img,.cover video{position:relative;max-width:100%;max-height:82vh;object-fit:contain;margin:auto}
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

    private static let lists = """
        .top{display:flex;flex-wrap:wrap;gap:1rem 2rem;align-items:start;justify-content:space-between}
        .top>div{flex:1 1 10rem;min-width:0}
        form{margin:0}
        button{font:inherit;font-weight:600;padding:.5rem 1.1rem;border:1px solid transparent;border-radius:8px;
        background:var(--accent);color:var(--page);cursor:pointer}
        button.quiet{background:none;border-color:var(--line);color:var(--text);font-weight:400}
        button:focus-visible,input:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
        input{font:inherit;flex:1 1 14rem;min-width:0;padding:.5rem .75rem;border:1px solid var(--line);border-radius:8px;
        background:var(--page);color:var(--text)}
        :root{--line:#cfcac2}
        @media (prefers-color-scheme:dark){:root{--line:#45454c}}
        meter{display:block;width:min(100%,20rem);height:.5rem;margin-top:.6rem;border:0;border-radius:99px;overflow:hidden;
        appearance:none;background:var(--box)}
        meter::-webkit-meter-inner-element{display:block}
        meter::-webkit-meter-bar{height:.5rem;border:0;border-radius:99px;background:var(--box)}
        meter::-webkit-meter-optimum-value{background:var(--accent)}
        meter::-webkit-meter-suboptimum-value{background:#d08a1d}
        meter::-moz-meter-bar{background:var(--accent)}
        meter:-moz-meter-sub-optimum::-moz-meter-bar{background:#d08a1d}
        .card{max-width:34rem;padding:clamp(1rem,3vw,1.5rem);margin:0 0 1.75rem;background:var(--box);border-radius:14px}
        .card h2{margin:0 0 .75rem}
        label{display:block;margin-bottom:.35rem;color:var(--soft)}
        .row{display:flex;flex-wrap:wrap;gap:.6rem}
        .search{max-width:34rem;margin-bottom:1rem}
        .found{margin-bottom:1rem}
        .hint{margin:.75rem 0 0;color:var(--soft);font-size:.875rem}
        .wrong{margin:0 0 .75rem;font-weight:600}
        h2{margin:clamp(1.75rem,4vw,2.75rem) 0 .85rem;font-size:1.25rem;line-height:1.3;font-weight:650}
        h2 small{font-weight:400;margin-left:.25rem}
        main>h2:first-child{margin-top:0}
        .shelf{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(46%,10rem),1fr));gap:1.25rem clamp(.6rem,1.5vw,1rem)}
        .posts{grid-template-columns:repeat(auto-fill,minmax(min(46%,14rem),1fr))}
        .tile{display:flex;flex-direction:column;min-width:0;color:inherit;text-decoration:none}
        .thumb{position:relative;display:grid;place-content:center;aspect-ratio:1;margin-bottom:.45rem;border-radius:10px;
        overflow:hidden;background:var(--box);color:var(--soft);font-weight:600;letter-spacing:.06em}
        .posts .thumb{aspect-ratio:4/3;border-radius:14px}
        .film::before{content:"\\25B6";justify-self:center;font-size:1.6rem;line-height:1.2}
        .thumb img{position:absolute;inset:0;width:100%;height:100%;object-fit:cover;transition:transform .25s ease}
        .tile:hover img{transform:scale(1.03)}
        .tile:hover .label{text-decoration:underline;text-underline-offset:.15em}
        .tile small{white-space:normal}
        .tile time{white-space:nowrap}
        .label{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
        .posts .label{white-space:normal;overflow-wrap:anywhere;font-weight:600;line-height:1.3;margin-bottom:.1rem;
        display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3}
        .pager{display:flex;flex-wrap:wrap;gap:.6rem 1.5rem;margin-top:1.5rem}
        .pager a{padding:.35rem 0}
        @media (prefers-reduced-motion:reduce){.thumb img{transition:none}}
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
