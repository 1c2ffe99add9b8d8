/* An entry:
 *
 *   header 30 | name | extra: [sizes beyond 4 GiB] padding | data | descriptor 16 or 24
 *
 * and after the last one the directory, with a record for each of them, and its end in three parts
 * (for archives beyond 4 GiB, a pointer to that, and the plain one). An entry without data has no
 * descriptor. Header and directory leave sizes to the extra fields where 32 bits do not hold them.
 */
#include "io/format_zip.h"

#include "base/check.h"
#include "base/memory.h"
#include "io/crc32.h"

#include <stdio.h>
#include <string.h>

enum {
    HEADER_BYTES = 30,
    EXTRA_HEAD_BYTES = 4,
    ZIP64_EXTRA = 0x0001,
    PADDING_EXTRA = 0x4246, /* "FB" */
    PADDING_BYTE = 'Z',
    UTF8_FLAG = 0x0800,
    DESCRIPTOR_FLAG = 0x0008,
    END64_BYTES = 56,
    MADE_BY = 0x031e, /* unix, 3.0 */
    NEEDS_ZIP64 = 45,
};

static const uint32_t header_mark = 0x04034b50, descriptor_mark = 0x08074b50,
                      record_mark = 0x02014b50, end64_mark = 0x06064b50, locator_mark = 0x07064b50,
                      end_mark = 0x06054b50;

static uint64_t clip(uint64_t value, uint64_t most) { return value < most ? value : most; }

static bool is_large(const struct zip_entry *entry) { return entry->bytes >= UINT32_MAX; }

static bool is_far(const struct zip_entry *entry) { return entry->header_offset >= UINT32_MAX; }

static bool has_zip64(const struct zip_entry *entry) { return is_large(entry) || is_far(entry); }

/* With its head. */
static uint64_t zip64_bytes(const struct zip_entry *entry) {
    uint64_t numbers = (is_large(entry) ? 2 : 0) + (is_far(entry) ? 1 : 0);
    return numbers == 0 ? 0 : EXTRA_HEAD_BYTES + numbers * sizeof entry->bytes;
}

static uint32_t flags(const struct zip_entry *entry) {
    return UTF8_FLAG | (entry->bytes > 0 ? DESCRIPTOR_FLAG : 0);
}

static void number(struct zip *zip, uint64_t value, size_t size) {
    builder_number(zip->builder, value, size);
}

static void put_crc(struct zip *zip, const struct zip_entry *entry) {
    if (entry->crc_number != FORMAT_NO_CRC) {
        builder_crc_field(zip->builder, entry->crc_number);
    } else {
        number(zip, entry->crc, 4);
    }
}

/* A header does not know the compressed size yet; the directory does. */
static void put_zip64(struct zip *zip, const struct zip_entry *entry, uint64_t compressed) {
    if (!has_zip64(entry)) {
        return;
    }
    number(zip, ZIP64_EXTRA, 2);
    number(zip, zip64_bytes(entry) - EXTRA_HEAD_BYTES, 2);
    if (is_large(entry)) {
        number(zip, entry->bytes, 8);
        number(zip, compressed, 8);
    }
    if (is_far(entry)) {
        number(zip, entry->header_offset, 8);
    }
}

static struct zip_entry *add_entry(struct zip *zip, const char *name, uint64_t bytes) {
    CHECK(zip->entry_count < zip->entry_max);
    struct zip_entry *entry = &zip->entries[zip->entry_count++];
    int length = snprintf(entry->name, sizeof entry->name, "%s/%s", zip->folder, name);
    CHECK(length < ZIP_NAME);
    entry->bytes = bytes;
    entry->header_offset = zip->builder->offset - zip->begin;
    entry->crc_number = FORMAT_NO_CRC;
    return entry;
}

static void put_header(struct zip *zip, const struct zip_entry *entry, uint64_t align) {
    uint64_t name_bytes = strlen(entry->name);
    uint64_t data =
        entry->header_offset + HEADER_BYTES + name_bytes + zip64_bytes(entry) + EXTRA_HEAD_BYTES;
    uint64_t padding = format_round_up(data, align) - data;
    number(zip, header_mark, 4);
    number(zip, 0, 2); /* version needed */
    number(zip, flags(entry), 2);
    number(zip, 0, 2); /* stored */
    number(zip, 0, 4); /* no time */
    number(zip, 0, 4); /* CRC-32 and sizes come later */
    number(zip, 0, 8);
    number(zip, name_bytes, 2);
    number(zip, zip64_bytes(entry) + EXTRA_HEAD_BYTES + padding, 2);
    builder_literal(zip->builder, entry->name, name_bytes);
    put_zip64(zip, entry, 0);
    number(zip, PADDING_EXTRA, 2);
    number(zip, padding, 2);
    builder_repeated(zip->builder, PADDING_BYTE, padding);
}

static void put_descriptor(struct zip *zip, const struct zip_entry *entry) {
    if (entry->bytes == 0) {
        return;
    }
    size_t size = has_zip64(entry) ? 8 : 4;
    number(zip, descriptor_mark, 4);
    put_crc(zip, entry);
    number(zip, entry->bytes, size);
    number(zip, entry->bytes, size);
}

static void put_record(struct zip *zip, const struct zip_entry *entry) {
    uint64_t name_bytes = strlen(entry->name);
    number(zip, record_mark, 4);
    number(zip, 0, 4); /* made by, version needed */
    number(zip, flags(entry), 2);
    number(zip, 0, 2); /* stored */
    number(zip, 0, 4); /* no time */
    put_crc(zip, entry);
    number(zip, clip(entry->bytes, UINT32_MAX), 4);
    number(zip, clip(entry->bytes, UINT32_MAX), 4);
    number(zip, name_bytes, 2);
    number(zip, zip64_bytes(entry), 2);
    number(zip, 0, 6); /* no comment, disk 0, internal attributes */
    number(zip, 0, 4); /* external attributes */
    number(zip, clip(entry->header_offset, UINT32_MAX), 4);
    builder_literal(zip->builder, entry->name, name_bytes);
    put_zip64(zip, entry, entry->bytes);
}

static void put_end64(struct zip *zip, uint64_t directory, uint64_t directory_bytes) {
    number(zip, end64_mark, 4);
    number(zip, END64_BYTES - 12, 8);
    number(zip, MADE_BY, 2);
    number(zip, NEEDS_ZIP64, 2);
    number(zip, 0, 8); /* disks */
    number(zip, zip->entry_count, 8);
    number(zip, zip->entry_count, 8);
    number(zip, directory_bytes, 8);
    number(zip, directory, 8);
    number(zip, locator_mark, 4);
    number(zip, 0, 4); /* disk */
    number(zip, directory + directory_bytes, 8);
    number(zip, 1, 4); /* disks in all */
}

void zip_begin(struct zip *zip, struct format_builder *builder, const char *folder,
               uint64_t entry_max) {
    *zip = (struct zip){.builder = builder,
                        .folder = folder,
                        .begin = builder->offset,
                        .entry_max = entry_max,
                        .entries = mem_new(entry_max, sizeof(struct zip_entry))};
}

void zip_literal(struct zip *zip, const char *name, const void *data, size_t length) {
    struct zip_entry *entry = add_entry(zip, name, length);
    entry->crc = zip->builder->no_crc ? 0 : crc32_more(0, data, length);
    put_header(zip, entry, ZIP_ALIGN);
    builder_literal(zip->builder, data, length);
    put_descriptor(zip, entry);
}

void zip_payload(struct zip *zip, const char *name, const struct tensor *tensor,
                 struct format_place *place, uint64_t align) {
    struct zip_entry *entry = add_entry(zip, name, tensor->bytes);
    put_header(zip, entry, align);
    entry->crc_number = builder_payload_crc(zip->builder, tensor, place);
    put_descriptor(zip, entry);
}

void zip_end(struct zip *zip) {
    uint64_t directory = zip->builder->offset - zip->begin;
    for (uint64_t i = 0; i < zip->entry_count; i++) {
        put_record(zip, &zip->entries[i]);
    }
    uint64_t directory_bytes = zip->builder->offset - zip->begin - directory;
    put_end64(zip, directory, directory_bytes);
    number(zip, end_mark, 4);
    number(zip, 0, 4); /* disks */
    number(zip, clip(zip->entry_count, UINT16_MAX), 2);
    number(zip, clip(zip->entry_count, UINT16_MAX), 2);
    number(zip, clip(directory_bytes, UINT32_MAX), 4);
    number(zip, clip(directory, UINT32_MAX), 4);
    number(zip, 0, 2); /* no comment */
}

void zip_fini(struct zip *zip) { mem_free(zip->entries); }
