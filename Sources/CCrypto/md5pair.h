// Two MD5s of the same bytes at once, such as those of a content and of one of its parts.
//
// Each step of MD5 (RFC 1321, section 3.4) waits for the one before, so one MD5 leaves most of a core idle. Two in turn
// take about a tenth longer than one. For little-endian processors.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "outbox_md5_pair reads words of little-endian processors"
#endif

/// Adds whole blocks of 64 bytes to two states (A, B, C, D).
static inline void outbox_md5_pair(uint32_t first[4], uint32_t second[4], const uint8_t *bytes, size_t blocks) {
    uint32_t a0 = first[0], b0 = first[1], c0 = first[2], d0 = first[3];
    uint32_t a1 = second[0], b1 = second[1], c1 = second[2], d1 = second[3];
#define F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z) (((x) & (z)) + ((y) & ~(z)))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))
#define TURN(x, n) (((x) << (n)) | ((x) >> (32 - (n))))
#define S(f, a, b, c, d, word, constant, turn) \
    a##0 += f(b##0, c##0, d##0) + (w[word] + constant##u); \
    a##1 += f(b##1, c##1, d##1) + (w[word] + constant##u); \
    a##0 = TURN(a##0, turn) + b##0; \
    a##1 = TURN(a##1, turn) + b##1;
    for (; blocks > 0; blocks--, bytes += 64) {
        uint32_t w[16];
        memcpy(w, bytes, sizeof w);
        const uint32_t before[8] = {a0, b0, c0, d0, a1, b1, c1, d1};
        S(F,a,b,c,d,0,0xd76aa478,7) S(F,d,a,b,c,1,0xe8c7b756,12)
        S(F,c,d,a,b,2,0x242070db,17) S(F,b,c,d,a,3,0xc1bdceee,22)
        S(F,a,b,c,d,4,0xf57c0faf,7) S(F,d,a,b,c,5,0x4787c62a,12)
        S(F,c,d,a,b,6,0xa8304613,17) S(F,b,c,d,a,7,0xfd469501,22)
        S(F,a,b,c,d,8,0x698098d8,7) S(F,d,a,b,c,9,0x8b44f7af,12)
        S(F,c,d,a,b,10,0xffff5bb1,17) S(F,b,c,d,a,11,0x895cd7be,22)
        S(F,a,b,c,d,12,0x6b901122,7) S(F,d,a,b,c,13,0xfd987193,12)
        S(F,c,d,a,b,14,0xa679438e,17) S(F,b,c,d,a,15,0x49b40821,22)
        S(G,a,b,c,d,1,0xf61e2562,5) S(G,d,a,b,c,6,0xc040b340,9)
        S(G,c,d,a,b,11,0x265e5a51,14) S(G,b,c,d,a,0,0xe9b6c7aa,20)
        S(G,a,b,c,d,5,0xd62f105d,5) S(G,d,a,b,c,10,0x02441453,9)
        S(G,c,d,a,b,15,0xd8a1e681,14) S(G,b,c,d,a,4,0xe7d3fbc8,20)
        S(G,a,b,c,d,9,0x21e1cde6,5) S(G,d,a,b,c,14,0xc33707d6,9)
        S(G,c,d,a,b,3,0xf4d50d87,14) S(G,b,c,d,a,8,0x455a14ed,20)
        S(G,a,b,c,d,13,0xa9e3e905,5) S(G,d,a,b,c,2,0xfcefa3f8,9)
        S(G,c,d,a,b,7,0x676f02d9,14) S(G,b,c,d,a,12,0x8d2a4c8a,20)
        S(H,a,b,c,d,5,0xfffa3942,4) S(H,d,a,b,c,8,0x8771f681,11)
        S(H,c,d,a,b,11,0x6d9d6122,16) S(H,b,c,d,a,14,0xfde5380c,23)
        S(H,a,b,c,d,1,0xa4beea44,4) S(H,d,a,b,c,4,0x4bdecfa9,11)
        S(H,c,d,a,b,7,0xf6bb4b60,16) S(H,b,c,d,a,10,0xbebfbc70,23)
        S(H,a,b,c,d,13,0x289b7ec6,4) S(H,d,a,b,c,0,0xeaa127fa,11)
        S(H,c,d,a,b,3,0xd4ef3085,16) S(H,b,c,d,a,6,0x04881d05,23)
        S(H,a,b,c,d,9,0xd9d4d039,4) S(H,d,a,b,c,12,0xe6db99e5,11)
        S(H,c,d,a,b,15,0x1fa27cf8,16) S(H,b,c,d,a,2,0xc4ac5665,23)
        S(I,a,b,c,d,0,0xf4292244,6) S(I,d,a,b,c,7,0x432aff97,10)
        S(I,c,d,a,b,14,0xab9423a7,15) S(I,b,c,d,a,5,0xfc93a039,21)
        S(I,a,b,c,d,12,0x655b59c3,6) S(I,d,a,b,c,3,0x8f0ccc92,10)
        S(I,c,d,a,b,10,0xffeff47d,15) S(I,b,c,d,a,1,0x85845dd1,21)
        S(I,a,b,c,d,8,0x6fa87e4f,6) S(I,d,a,b,c,15,0xfe2ce6e0,10)
        S(I,c,d,a,b,6,0xa3014314,15) S(I,b,c,d,a,13,0x4e0811a1,21)
        S(I,a,b,c,d,4,0xf7537e82,6) S(I,d,a,b,c,11,0xbd3af235,10)
        S(I,c,d,a,b,2,0x2ad7d2bb,15) S(I,b,c,d,a,9,0xeb86d391,21)
        a0 += before[0], b0 += before[1], c0 += before[2], d0 += before[3];
        a1 += before[4], b1 += before[5], c1 += before[6], d1 += before[7];
    }
#undef F
#undef G
#undef H
#undef I
#undef TURN
#undef S
    first[0] = a0, first[1] = b0, first[2] = c0, first[3] = d0;
    second[0] = a1, second[1] = b1, second[2] = c1, second[3] = d1;
}
