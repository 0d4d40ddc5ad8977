// The files of the dashboard's page, which the compiler places into the program.
#ifndef OUTBOX_DASHBOARD_PAGE_H
#define OUTBOX_DASHBOARD_PAGE_H

#include <stddef.h>

/// A file of the page.
struct outbox_page_file {
    /// The path under which the dashboard serves the file, such as `/dashboard.js`.
    const char *_Nonnull path;
    /// The media type.
    const char *_Nonnull type;
    const unsigned char *_Nonnull bytes;
    size_t size;
};

/// Returns the file with this number, counted from 0; NULL after the last one.
const struct outbox_page_file *_Nullable outbox_page_file_at(size_t number);

#endif
