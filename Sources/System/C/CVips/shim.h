// libvips takes options as variadic arguments, which Swift cannot pass; each wrapper is one call with its options.
#pragma once

#include <errno.h>
#include <gmodule.h>
#include <unistd.h>
#include <vips/vips.h>
#include <vips/vector.h>

/// What a source reads from.
typedef struct {
    int descriptor;
    int64_t length;
    int64_t position;
    /// errno of a read that failed, else 0.
    int failure;
} OutboxSourceState;

static inline gint64 outbox_source_read(VipsSourceCustom *source, void *buffer, gint64 length, gpointer data) {
    OutboxSourceState *state = (OutboxSourceState *)data;
    (void)source;
    ssize_t count;
    do count = pread(state->descriptor, buffer, (size_t)length, state->position);
    while (count < 0 && errno == EINTR);
    if (count < 0) state->failure = errno;
    else state->position += count;
    return count;
}

static inline gint64 outbox_source_seek(VipsSourceCustom *source, gint64 offset, int whence, gpointer data) {
    OutboxSourceState *state = (OutboxSourceState *)data;
    (void)source;
    int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? state->position : state->length;
    int64_t position;
    if (__builtin_add_overflow(base, offset, &position) || position < 0) return -1;
    return state->position = position;
}

/// A source that reads with pread: unlike libvips' own ones for descriptors it never maps the file, so that one which
/// is cut meanwhile ends early instead of raising SIGBUS. The descriptor stays the caller's, and open.
static inline VipsSource *outbox_source(int descriptor, int64_t length) {
    OutboxSourceState *state = g_new0(OutboxSourceState, 1);
    state->descriptor = descriptor;
    state->length = length;
    VipsSourceCustom *source = vips_source_custom_new();
    g_object_set_data_full(G_OBJECT(source), "outbox", state, g_free);
    g_signal_connect(source, "read", G_CALLBACK(outbox_source_read), state);
    g_signal_connect(source, "seek", G_CALLBACK(outbox_source_seek), state);
    return VIPS_SOURCE(source);
}

/// errno of a read that failed, else 0.
static inline int outbox_source_failure(VipsSource *source) {
    return ((OutboxSourceState *)g_object_get_data(G_OBJECT(source), "outbox"))->failure;
}

// Rows are asked for from top to bottom, and broken data is an error. Of several pages each loader takes the first.
#define OUTBOX_STRICTLY "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR, NULL

static inline int outbox_load_jpeg(VipsSource *source, VipsImage **image, int shrink) {
    return vips_jpegload_source(source, image, "shrink", shrink, OUTBOX_STRICTLY);
}
static inline int outbox_load_png(VipsSource *source, VipsImage **image) {
    return vips_pngload_source(source, image, OUTBOX_STRICTLY);
}
static inline int outbox_load_gif(VipsSource *source, VipsImage **image) {
    return vips_gifload_source(source, image, OUTBOX_STRICTLY);
}
static inline int outbox_load_webp(VipsSource *source, VipsImage **image, double scale) {
    return vips_webpload_source(source, image, "scale", scale, OUTBOX_STRICTLY);
}
static inline int outbox_load_heif(VipsSource *source, VipsImage **image) {
    return vips_heifload_source(source, image, OUTBOX_STRICTLY);
}
static inline int outbox_load_tiff(VipsSource *source, VipsImage **image) {
    return vips_tiffload_source(source, image, OUTBOX_STRICTLY);
}

static inline int outbox_crop(VipsImage *in, VipsImage **out, int left, int top, int width, int height) {
    return vips_extract_area(in, out, left, top, width, height, NULL);
}
/// Puts the picture into a larger one of zeros.
static inline int outbox_embed(VipsImage *in, VipsImage **out, int left, int top, int width, int height) {
    return vips_embed(in, out, left, top, width, height, NULL);
}
static inline int outbox_first_bands(VipsImage *in, VipsImage **out, int count) {
    return vips_extract_band(in, out, 0, "n", count, NULL);
}
static inline int outbox_add_opaque_alpha(VipsImage *in, VipsImage **out) { return vips_addalpha(in, out, NULL); }
static inline int outbox_premultiply(VipsImage *in, VipsImage **out) { return vips_premultiply(in, out, NULL); }
static inline int outbox_unpremultiply(VipsImage *in, VipsImage **out) { return vips_unpremultiply(in, out, NULL); }
static inline int outbox_cast(VipsImage *in, VipsImage **out, VipsBandFormat format) {
    return vips_cast(in, out, format, NULL);
}
static inline int outbox_resize(VipsImage *in, VipsImage **out, double horizontal, double vertical) {
    return vips_resize(in, out, horizontal, "vscale", vertical, NULL);
}
static inline int outbox_turn_upright(VipsImage *in, VipsImage **out) { return vips_autorot(in, out, NULL); }
static inline int outbox_flatten_on_white(VipsImage *in, VipsImage **out) {
    VipsArrayDouble *white = vips_array_double_newv(1, 255.0);
    int result = vips_flatten(in, out, "background", white, NULL);
    vips_area_unref(VIPS_AREA(white));
    return result;
}

/// From the profile within, or from `fallback` where there is none that fits.
static inline int outbox_transform_to_srgb(VipsImage *in, VipsImage **out, const char *fallback) {
    return vips_icc_transform(in, out, "srgb", "embedded", TRUE, "input_profile", fallback, "depth", 8, NULL);
}
static inline int outbox_interpret_as_srgb(VipsImage *in, VipsImage **out) {
    return vips_colourspace(in, out, VIPS_INTERPRETATION_sRGB, NULL);
}
/// Replaces each number by that of a table.
static inline int outbox_map(VipsImage *in, VipsImage **out, VipsImage *table) {
    return vips_maplut(in, out, table, NULL);
}
/// Multiplies the three channels with a matrix of 3 rows of 3.
static inline int outbox_recombine(VipsImage *in, VipsImage **out, const double *matrix) {
    VipsImage *image = vips_image_new_matrix_from_array(3, 3, matrix, 9);
    if (!image) return -1;
    int result = vips_recomb(in, out, image, NULL);
    g_object_unref(image);
    return result;
}
/// From linear light of BT.709, where 1 is white; the result has no colour profile.
static inline int outbox_encode_light(VipsImage *in, VipsImage **out, VipsInterpretation target) {
    VipsImage *named = NULL;
    if (vips_copy(in, &named, "interpretation", VIPS_INTERPRETATION_scRGB, NULL)) return -1;
    vips_image_remove(named, VIPS_META_ICC_NAME);
    int result = vips_colourspace(named, out, target, NULL);
    g_object_unref(named);
    return result;
}
static inline int outbox_last_band(VipsImage *in, VipsImage **out) {
    return vips_extract_band(in, out, vips_image_get_bands(in) - 1, NULL);
}
static inline int outbox_join_bands(VipsImage *in, VipsImage *last, VipsImage **out) {
    return vips_bandjoin2(in, last, out, NULL);
}
static inline int outbox_name_interpretation(VipsImage *in, VipsImage **out, VipsInterpretation interpretation) {
    return vips_copy(in, out, "interpretation", interpretation, NULL);
}

// "strip" leaves out EXIF, XMP, IPTC and the colour profile.
static inline int outbox_save_jpeg(VipsImage *in, void **bytes, size_t *count, int quality) {
    return vips_jpegsave_buffer(in, bytes, count, "Q", quality, "strip", TRUE, NULL);
}
static inline int outbox_save_png(VipsImage *in, void **bytes, size_t *count) {
    return vips_pngsave_buffer(in, bytes, count, "strip", TRUE, NULL);
}

/// Loads one of libvips' own colour profiles once.
static inline int outbox_load_profile(const char *name) {
    VipsBlob *profile = NULL;
    int result = vips_profile_load(name, &profile, NULL);
    if (profile) vips_area_unref(VIPS_AREA(profile));
    return result;
}

static inline int outbox_vips_start(const char *name) { return VIPS_INIT(name); }

// dladdr(3) and its Dl_info, which the headers hide without _GNU_SOURCE.
typedef struct {
    const char *path;
    void *base;
    const char *symbol;
    void *address;
} OutboxLibrary;
int outbox_dladdr(const void *address, OutboxLibrary *library) __asm__("dladdr");

/// Returns the path of libvips; NULL if the linker does not know it.
static inline const char *outbox_vips_path(void) {
    OutboxLibrary library;
    return outbox_dladdr((const void *)vips_version_string, &library) ? library.path : NULL;
}

static inline void outbox_drop_message(const gchar *domain, GLogLevelFlags level, const gchar *text, gpointer data) {
    (void)domain, (void)level, (void)text, (void)data;
}
/// Warnings of decoders are not for people: what matters comes as an error.
static inline void outbox_silence_warnings(void) { g_log_set_default_handler(outbox_drop_message, NULL); }
