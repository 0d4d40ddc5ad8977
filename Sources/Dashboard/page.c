// SwiftPM's own `.embedInCode` makes Swift array literals, which take the compiler 20 s for 60 KB. `#embed` takes none,
// and the compiler notices changed files. To add a file: an array, and a row in the table.
#pragma clang diagnostic ignored "-Wc23-extensions"
#include "DashboardPage.h"

static const unsigned char index_html[] = {
#embed "Page/index.html"
};
static const unsigned char dashboard_css[] = {
#embed "Page/dashboard.css"
};
static const unsigned char dashboard_js[] = {
#embed "Page/dashboard.js"
};
static const unsigned char icon_svg[] = {
#embed "Page/icon.svg"
};

static const struct outbox_page_file files[] = {
    {"/", "text/html; charset=utf-8", index_html, sizeof index_html},
    {"/dashboard.css", "text/css; charset=utf-8", dashboard_css, sizeof dashboard_css},
    {"/dashboard.js", "text/javascript; charset=utf-8", dashboard_js, sizeof dashboard_js},
    {"/icon.svg", "image/svg+xml", icon_svg, sizeof icon_svg},
};

const struct outbox_page_file *outbox_page_file_at(size_t number) {
    return number < sizeof files / sizeof *files ? &files[number] : NULL;
}
