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
static const unsigned char api_js[] = {
#embed "Page/api.js"
};
static const unsigned char drop_js[] = {
#embed "Page/drop.js"
};
static const unsigned char files_js[] = {
#embed "Page/files.js"
};
static const unsigned char graph_js[] = {
#embed "Page/graph.js"
};
static const unsigned char history_js[] = {
#embed "Page/history.js"
};
static const unsigned char list_js[] = {
#embed "Page/list.js"
};
static const unsigned char page_js[] = {
#embed "Page/page.js"
};
static const unsigned char parts_js[] = {
#embed "Page/parts.js"
};
static const unsigned char words_js[] = {
#embed "Page/words.js"
};
static const unsigned char icon_svg[] = {
#embed "Page/icon.svg"
};

#define script "text/javascript; charset=utf-8"

static const struct outbox_page_file files[] = {
    {"/", "text/html; charset=utf-8", index_html, sizeof index_html},
    {"/dashboard.css", "text/css; charset=utf-8", dashboard_css, sizeof dashboard_css},
    {"/dashboard.js", script, dashboard_js, sizeof dashboard_js},
    {"/api.js", script, api_js, sizeof api_js},
    {"/drop.js", script, drop_js, sizeof drop_js},
    {"/files.js", script, files_js, sizeof files_js},
    {"/graph.js", script, graph_js, sizeof graph_js},
    {"/history.js", script, history_js, sizeof history_js},
    {"/list.js", script, list_js, sizeof list_js},
    {"/page.js", script, page_js, sizeof page_js},
    {"/parts.js", script, parts_js, sizeof parts_js},
    {"/words.js", script, words_js, sizeof words_js},
    {"/icon.svg", "image/svg+xml", icon_svg, sizeof icon_svg},
};

const struct outbox_page_file *outbox_page_file_at(size_t number) {
    return number < sizeof files / sizeof *files ? &files[number] : NULL;
}
