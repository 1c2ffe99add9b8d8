/* HDF5: one contiguous dataset per tensor. libhdf5 writes the file, without its data, into memory:
 * a file of its full length in which nothing but structure takes room. What it wrote there becomes
 * literals, and where it put the datasets becomes payload.
 *
 *   memory file:  structure | hole (a dataset, allocated but never written) | structure? | hole ...
 *   segments:     literal   | payload                                       | literal    | payload
 *
 * Nothing in it records times, so that the same tensors make the same file. */
#include "io/format_builder.h"
#include "io/formats.h"

#include "base/memory.h"

#include <errno.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* Room for structure at the front of the file; what needs more goes between the datasets. */
    STRUCTURE_BYTES = 4096,
    STRUCTURE_BYTES_PER_TENSOR = 384,
    COPY_BYTES = 64 * 1024,
    PATH_TEXT = 64,
};

struct hdf5 {
    int fd;
    hid_t file_access, file_creation, link_creation, dataset_creation;
    hid_t file;
};

/* Failures. The library keeps a stack of what went wrong; its last word is the cause. */

static herr_t take_words(unsigned depth, const H5E_error2_t *entry, void *words) {
    (void)depth;
    *(const char **)words = entry->desc;
    return 0;
}

static enum status fail(const char *subject, struct error *err) {
    const char *words = "no reason given";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_words, &words);
    return error_set(err, ERR_USAGE, "hdf5: cannot make '%s': %s", subject, words);
}

/* Types. */

/* Small floats are not among the library's own. From the highest bit: sign, exponent, mantissa. */
static hid_t small_float(size_t bytes, size_t exponent_bits, size_t bias) {
    size_t sign = bytes * 8 - 1, mantissa_bits = sign - exponent_bits;
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(type, sign, mantissa_bits, exponent_bits, 0, mantissa_bits);
    H5Tset_size(type, bytes);
    H5Tset_ebias(type, bias);
    return type;
}

/* To be closed. */
static hid_t open_type(enum datatype datatype) {
    switch (datatype) {
    case DATATYPE_FP64: return H5Tcopy(H5T_IEEE_F64LE);
    case DATATYPE_FP32: return H5Tcopy(H5T_IEEE_F32LE);
    case DATATYPE_FP16: return small_float(2, 5, 15);
    case DATATYPE_BF16: return small_float(2, 8, 127);
    case DATATYPE_INT64: return H5Tcopy(H5T_STD_I64LE);
    case DATATYPE_INT32: return H5Tcopy(H5T_STD_I32LE);
    case DATATYPE_INT8: return H5Tcopy(H5T_STD_I8LE);
    case DATATYPE_UINT8: return H5Tcopy(H5T_STD_U8LE);
    case DATATYPE_UNSET:
    case DATATYPE_COUNT: break;
    }
    return H5I_INVALID_HID;
}

static hid_t open_space(const struct tensor *tensor) {
    hsize_t dims[TENSOR_DIMENSIONS];
    for (uint32_t i = 0; i < tensor->dimensions; i++) {
        dims[i] = tensor->shape[i];
    }
    return tensor->dimensions == 0 ? H5Screate(H5S_SCALAR)
                                   : H5Screate_simple((int)tensor->dimensions, dims, NULL);
}

/* The memory file. */

static void open_properties(struct hdf5 *hdf5, uint64_t tensors) {
    hdf5->file_access = H5Pcreate(H5P_FILE_ACCESS);
    /* The one driver that opens a file without a name, by its descriptor's path. */
    H5Pset_fapl_stdio(hdf5->file_access);
    H5Pset_alignment(hdf5->file_access, FORMAT_ALIGNED_BYTES, PAYLOAD_BLOCK);
    H5Pset_meta_block_size(hdf5->file_access,
                           STRUCTURE_BYTES + tensors * STRUCTURE_BYTES_PER_TENSOR);
    H5Pset_libver_bounds(hdf5->file_access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    hdf5->file_creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(hdf5->file_creation, false);
    hdf5->link_creation = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(hdf5->link_creation, true);
    hdf5->dataset_creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(hdf5->dataset_creation, H5D_CONTIGUOUS);
    H5Pset_alloc_time(hdf5->dataset_creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(hdf5->dataset_creation, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(hdf5->dataset_creation, false);
}

static void close_properties(struct hdf5 *hdf5) {
    H5Pclose(hdf5->dataset_creation);
    H5Pclose(hdf5->link_creation);
    H5Pclose(hdf5->file_creation);
    H5Pclose(hdf5->file_access);
}

static enum status open_file(struct hdf5 *hdf5, struct error *err) {
    char path[PATH_TEXT];
    snprintf(path, sizeof path, "/proc/self/fd/%d", hdf5->fd);
    hdf5->file = H5Fcreate(path, H5F_ACC_TRUNC, hdf5->file_creation, hdf5->file_access);
    return hdf5->file < 0 ? fail(path, err) : OK;
}

static enum status make_dataset(struct hdf5 *hdf5, const struct tensor *tensor,
                                struct format_place *place, struct error *err) {
    hid_t type = open_type(tensor->datatype), space = open_space(tensor);
    hid_t dataset = H5Dcreate2(hdf5->file, tensor->name, type, space, hdf5->link_creation,
                               hdf5->dataset_creation, H5P_DEFAULT);
    enum status status = dataset < 0 ? fail(tensor->name, err) : OK;
    if (status == OK) {
        /* One of no bytes has no place. */
        uint64_t offset = tensor->bytes > 0 ? H5Dget_offset(dataset) : 0;
        *place = (struct format_place){.offset = offset,
                                       .bytes = tensor->bytes,
                                       .item_offset = offset,
                                       .item_bytes = tensor->bytes};
        H5Dclose(dataset);
    }
    H5Sclose(space);
    H5Tclose(type);
    return status;
}

static enum status make_structure(struct hdf5 *hdf5, const struct tensor *tensors, uint64_t count,
                                  struct format_place *places, struct error *err) {
    open_properties(hdf5, count);
    enum status status = open_file(hdf5, err);
    if (status != OK) {
        close_properties(hdf5);
        return status;
    }
    for (uint64_t i = 0; i < count && status == OK; i++) {
        status = make_dataset(hdf5, &tensors[i], &places[i], err);
    }
    /* This writes what is still in the library's memory. */
    if (H5Fclose(hdf5->file) < 0 && status == OK) {
        status = fail("structure", err);
    }
    close_properties(hdf5);
    return status;
}

/* From the memory file to segments. */

static enum status copy_literal(const struct hdf5 *hdf5, struct format_builder *builder,
                                uint64_t begin, uint64_t end, struct error *err) {
    uint8_t buffer[COPY_BYTES];
    builder_skip_to(builder, begin);
    while (begin < end) {
        size_t want = end - begin < sizeof buffer ? end - begin : sizeof buffer;
        ssize_t got = pread(hdf5->fd, buffer, want, (off_t)begin);
        if (got <= 0) {
            return error_set(err, ERR_FAILED, "hdf5: cannot read back its structure: %s",
                             error_words(got < 0 ? errno : EIO));
        }
        builder_literal(builder, buffer, (size_t)got);
        begin += (uint64_t)got;
    }
    return OK;
}

/* What was written in [begin, end) of the memory file; the rest of it is a hole. */
static enum status copy_written(const struct hdf5 *hdf5, struct format_builder *builder,
                                uint64_t begin, uint64_t end, struct error *err) {
    enum status status = OK;
    while (begin < end && status == OK) {
        off_t data = lseek(hdf5->fd, (off_t)begin, SEEK_DATA);
        if (data < 0 || (uint64_t)data >= end) {
            return OK; /* ENXIO: nothing but a hole up to the end */
        }
        off_t hole = lseek(hdf5->fd, data, SEEK_HOLE);
        uint64_t data_end = hole > 0 && (uint64_t)hole < end ? (uint64_t)hole : end;
        status = copy_literal(hdf5, builder, (uint64_t)data, data_end, err);
        begin = data_end;
    }
    return status;
}

/* A tensor by where it lies. */
struct placed {
    const struct tensor *tensor;
    struct format_place *place;
};

static int compare_placed(const void *left, const void *right) {
    const struct placed *a = left, *b = right;
    return a->place->offset < b->place->offset ? -1 : a->place->offset > b->place->offset;
}

static struct placed *sort_by_place(const struct tensor *tensors, uint64_t count,
                                    struct format_place *places) {
    struct placed *placed = mem_new(count, sizeof placed[0]);
    for (uint64_t i = 0; i < count; i++) {
        placed[i] = (struct placed){.tensor = &tensors[i], .place = &places[i]};
    }
    qsort(placed, count, sizeof placed[0], compare_placed);
    return placed;
}

static enum status put_segments(const struct hdf5 *hdf5, const struct placed *placed,
                                uint64_t count, struct format_builder *builder, struct error *err) {
    struct stat info;
    if (fstat(hdf5->fd, &info) != 0) {
        return error_set(err, ERR_FAILED, "hdf5: cannot read back its structure: %s",
                         error_words(errno));
    }
    enum status status = OK;
    for (uint64_t i = 0; i < count && status == OK; i++) {
        if (placed[i].tensor->bytes > 0) {
            uint64_t offset = placed[i].place->offset;
            status = copy_written(hdf5, builder, builder->offset, offset, err);
            builder_skip_to(builder, offset);
            builder_payload(builder, placed[i].tensor, placed[i].place);
        }
    }
    if (status == OK) {
        status = copy_written(hdf5, builder, builder->offset, (uint64_t)info.st_size, err);
        builder_skip_to(builder, (uint64_t)info.st_size);
    }
    return status;
}

static enum status build_in(struct hdf5 *hdf5, const struct tensor *tensors, uint64_t count,
                            struct format_builder *builder, struct error *err) {
    enum status status = make_structure(hdf5, tensors, count, builder->places, err);
    if (status == OK) {
        struct placed *placed = sort_by_place(tensors, count, builder->places);
        status = put_segments(hdf5, placed, count, builder, err);
        mem_free(placed);
    }
    return status;
}

static enum status build(const struct tensor *tensors, uint64_t count,
                         const struct format_options *options, struct format_builder *builder,
                         struct error *err) {
    (void)options;
    struct hdf5 hdf5 = {.fd = memfd_create("ckptsim-hdf5", MFD_CLOEXEC)};
    if (hdf5.fd < 0) {
        return error_set(err, ERR_FAILED, "hdf5: cannot open a file in memory: %s",
                         error_words(errno));
    }
    /* The library would print its errors. */
    H5E_auto2_t print;
    void *print_data;
    H5Eget_auto2(H5E_DEFAULT, &print, &print_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    enum status status = build_in(&hdf5, tensors, count, builder, err);
    H5Eset_auto2(H5E_DEFAULT, print, print_data);
    close(hdf5.fd);
    return status;
}

const struct format format_hdf5 = {
    .name = "hdf5",
    .about = "HDF5 with one contiguous dataset per tensor",
    .extension = ".h5",
    .no_codec = "libhdf5 of Debian has no filter for zstd (32015), and an index of chunks would need their "
                "compressed lengths before the structure is written",
    .build = build,
};
