// OpenSSL's MD5 and SHA-256 with their states in the open: several MD5s are computed side by side.
#pragma once
// Deprecated in favour of `EVP_MD_CTX`, which hides the state. MD5 is a key here, never a signature.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>
#include <openssl/sha.h>

#include "md5.h"

/// man 3 CRYPTO_memcmp. Its header, <openssl/crypto.h>, brings structs of the C library that clash with those of Swift's
/// Glibc module.
int CRYPTO_memcmp(const void *left, const void *right, size_t count);

/// Adds whole blocks of 64 bytes to the number of bits in a context, which are two words.
static inline void outbox_md5_count(MD5_CTX *context, size_t blocks) {
    const uint64_t bits = ((uint64_t)context->Nh << 32 | context->Nl) + (uint64_t)blocks * 512;
    context->Nl = (MD5_LONG)bits, context->Nh = (MD5_LONG)(bits >> 32);
}

/// Adds the next bytes to an MD5.
static inline void outbox_md5_update(MD5_CTX *context, const void *bytes, size_t size) {
    const uint8_t *rest = (const uint8_t *)bytes;
    if (context->num > 0) {
        // OpenSSL keeps what was added of the last block.
        const size_t missing = MD5_CBLOCK - context->num;
        const size_t taken = size < missing ? size : missing;
        MD5_Update(context, rest, taken);
        rest += taken, size -= taken;
    }
    const size_t blocks = size / MD5_CBLOCK;
    if (blocks > 0) {
        uint32_t state[4] = {context->A, context->B, context->C, context->D};
        outbox_md5_blocks(state, rest, blocks);
        context->A = state[0], context->B = state[1], context->C = state[2], context->D = state[3];
        outbox_md5_count(context, blocks);
        rest += blocks * MD5_CBLOCK, size -= blocks * MD5_CBLOCK;
    }
    if (size > 0) MD5_Update(context, rest, size);
}

/// Adds whole blocks of 64 bytes to two MD5s, neither of which is within a block.
static inline void outbox_md5_pair_update(MD5_CTX *first, MD5_CTX *second, const void *bytes, size_t blocks) {
    uint32_t one[4] = {first->A, first->B, first->C, first->D};
    uint32_t two[4] = {second->A, second->B, second->C, second->D};
    outbox_md5_pair(one, two, (const uint8_t *)bytes, blocks);
    first->A = one[0], first->B = one[1], first->C = one[2], first->D = one[3];
    second->A = two[0], second->B = two[1], second->C = two[2], second->D = two[3];
    outbox_md5_count(first, blocks), outbox_md5_count(second, blocks);
}

/// Adds whole blocks of 64 bytes to up to `OUTBOX_MD5_LANES` MD5s, none of which is within a block. Each has its own
/// bytes.
static inline void outbox_md5_lanes_update(
    MD5_CTX *const contexts[], const uint8_t *const bytes[], size_t count, size_t blocks) {
    uint32_t states[4][OUTBOX_MD5_LANES] = {{0}};
    const uint8_t *inputs[OUTBOX_MD5_LANES];
    for (size_t lane = 0; lane < OUTBOX_MD5_LANES; lane++) {
        // A lane that nobody needs repeats the first one's bytes.
        inputs[lane] = bytes[lane < count ? lane : 0];
        if (lane >= count) continue;
        const MD5_CTX *context = contexts[lane];
        states[0][lane] = context->A, states[1][lane] = context->B;
        states[2][lane] = context->C, states[3][lane] = context->D;
    }
    outbox_md5_lanes(states, inputs, blocks);
    for (size_t lane = 0; lane < count; lane++) {
        MD5_CTX *context = contexts[lane];
        context->A = states[0][lane], context->B = states[1][lane];
        context->C = states[2][lane], context->D = states[3][lane];
        outbox_md5_count(context, blocks);
    }
}

/// Adds the next bytes of up to `OUTBOX_MD5_LANES` inputs to their MD5s, none of which is within a block.
static inline void outbox_md5_update_each(
    MD5_CTX *contexts, const void *const inputs[], const size_t sizes[], size_t count) {
    // The whole blocks that each input gave, if it has so many.
    size_t taken = 0;
    while (1) {
        MD5_CTX *longer[OUTBOX_MD5_LANES];
        const uint8_t *bytes[OUTBOX_MD5_LANES];
        size_t lanes = 0, blocks = SIZE_MAX;
        for (size_t i = 0; i < count; i++) {
            const size_t whole = sizes[i] / MD5_CBLOCK;
            if (whole <= taken) continue;
            longer[lanes] = &contexts[i];
            bytes[lanes++] = (const uint8_t *)inputs[i] + taken * MD5_CBLOCK;
            if (whole - taken < blocks) blocks = whole - taken;
        }
        // A single lane would be slower than `outbox_md5_update`.
        if (lanes < 2) break;
        outbox_md5_lanes_update(longer, bytes, lanes, blocks);
        taken += blocks;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t whole = sizes[i] / MD5_CBLOCK;
        const size_t start = (whole < taken ? whole : taken) * MD5_CBLOCK;
        if (start < sizes[i]) outbox_md5_update(&contexts[i], (const uint8_t *)inputs[i] + start, sizes[i] - start);
    }
}
