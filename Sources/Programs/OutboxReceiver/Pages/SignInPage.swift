import HTTPTypes
import Hummingbird

/// The page at the server's own address, `remote.url` of every agent, for people who have not signed in. It names no
/// version, user or file, because anybody may see it.
struct SignInPage {
    /// Whether the page comes over TLS.
    let isEncrypted: Bool
    /// Whether the token of the last attempt was wrong.
    var isWrong = false

    var response: Response {
        let html = HTMLPage.text(title: "Outbox receiver", style: PageStyle.home.text, body: body)
        guard isWrong else { return HTMLPage.home(html) }
        var response = HTMLPage.home(html, status: .unauthorized)
        response.headers[.wwwAuthenticate] = "Bearer"
        return response
    }

    private var body: String {
        """
        <header>
        <h1>Outbox receiver</h1>
        <p class="facts">This server takes pictures and videos from outbox agents. It is running.</p>
        </header>
        <main>
        <form class="card" method="post" action="./sign-in">
        <h2>See your files</h2>
        \(isWrong ? "<p class=\"wrong\" role=\"alert\">This server does not know this token.</p>" : "")
        <label for="token">The token of your agent</label>
        <div class="row"><input id="token" name="token" type="password" required maxlength="1024" \
        autocomplete="current-password" autocapitalize="off" spellcheck="false"><button>Sign in</button></div>
        \(isEncrypted ? "" : Self.warning)
        </form>
        <p>Every file and every post also has a secret link of its own. The agent that uploaded it knows the link: see
        <code>outbox status FILE</code>, or <code>remote.url</code> in the file's sidecar.</p>
        <p>To upload from a machine, put this page's address into <code>url</code> below <code>[remote]</code> in its
        <code>agent.toml</code>, then run <code>outbox doctor</code>.</p>
        </main>
        """
    }

    private static let warning = """
        <p class="hint">If the address of this page begins with <code>http://</code>, others in the network can read the \
        token. Sign in like this on your own machine or network only.</p>
        """
}
