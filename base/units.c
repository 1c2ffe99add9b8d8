#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit size_units[] = {
    {"", 1},          {"b", 1},          {"kb", 1e3},       {"mb", 1e6},      {"gb", 1e9},
    {"tb", 1e12},     {"pb", 1e15},      {"kib", 1024.0},   {"mib", 1048576.0},
    {"gib", 1073741824.0}, {"tib", 1099511627776.0}, {"pib", 1125899906842624.0},
    {"k", 1024.0},    {"m", 1048576.0},  {"g", 1073741824.0}, {"t", 1099511627776.0},
    {NULL, 0},
};

static const struct unit duration_units[] = {
    {"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9}, {"min", 60e9},
    {"h", 3600e9}, {"d", 86400e9}, {NULL, 0},
};

/* Reads a plain decimal number (no sign, no hex, no inf) and returns where it ends, or NULL. */
static const char *plain_number(const char *text, double *value) {
    const char *end = text;
    while (isdigit((unsigned char)*end) || *end == '.') {
        end++;
    }
    if (end == text || *end == 'x' || *end == 'X') { /* strtod would read 0x10 as hexadecimal */
        return NULL;
    }
    char *stop;
    *value = strtod(text, &stop);
    if (stop < end) {
        return NULL;
    }
    return stop;
}

static const struct unit *find_unit(const struct unit *units, const char *name) {
    for (const struct unit *unit = units; unit->name != NULL; unit++) {
        if (strcasecmp(unit->name, name) == 0) {
            return unit;
        }
    }
    return NULL;
}

static enum status parse_scaled(const char *text, const struct unit *units, const char *allowed,
                                uint64_t *out, struct error *err) {
    double value;
    if (text[0] == '-') {
        return error_set(err, ERR_USAGE, "'%s' is negative; %s", text, allowed);
    }
    const char *end = plain_number(text, &value);
    if (end == NULL) {
        return error_set(err, ERR_USAGE, "'%s' is not a number; %s", text, allowed);
    }
    while (*end == ' ') {
        end++;
    }
    const struct unit *unit = find_unit(units, end);
    if (unit == NULL) {
        return error_set(err, ERR_USAGE, "'%s' has an unknown unit '%s'; %s", text, end, allowed);
    }
    errno = 0;
    char *stop;
    unsigned long long whole = strtoull(text, &stop, 10);
    if (errno == 0 && *stop != '.' && *stop != 'e' && *stop != 'E') {
        /* A whole number is multiplied exactly, beyond a double's 53 bits. */
        uint64_t product;
        if (__builtin_mul_overflow((uint64_t)whole, (uint64_t)unit->factor, &product)) {
            return error_set(err, ERR_USAGE, "'%s' is larger than 2^64-1", text);
        }
        *out = product;
        return OK;
    }
    double scaled = value * unit->factor;
    if (!(scaled < 18446744073709549568.0)) {
        return error_set(err, ERR_USAGE, "'%s' is larger than 2^64-1", text);
    }
    *out = (uint64_t)(scaled + (scaled < 9e15 ? 0.5 : 0.0)); /* rounds where a double has room */
    return OK;
}

enum status units_parse_size(const char *text, uint64_t *bytes, struct error *err) {
    return parse_scaled(text, size_units,
                        "a size is a number with B, kB, MB, GB, TB, PB (powers of 1000) or KiB, "
                        "MiB, GiB, TiB, PiB (powers of 1024)",
                        bytes, err);
}

enum status units_parse_duration(const char *text, uint64_t *ns, struct error *err) {
    return parse_scaled(text, duration_units,
                        "a duration is a number with ns, us, ms, s, m, h or d", ns, err);
}

enum status units_parse_number(const char *text, double *value, struct error *err) {
    static const char allowed[] = "a number like 1.3, 1/1000 or 88% is needed";
    const char *end = plain_number(text, value);
    if (end != NULL && *end == '/') {
        double divisor;
        end = plain_number(end + 1, &divisor);
        if (end != NULL && divisor == 0) {
            return error_set(err, ERR_USAGE, "'%s' divides by zero", text);
        }
        *value /= end != NULL ? divisor : 1;
    } else if (end != NULL && *end == '%') {
        *value /= 100;
        end++;
    }
    if (end == NULL || *end != '\0' || !isfinite(*value)) {
        return error_set(err, ERR_USAGE, "'%s' is not a number; %s", text, allowed);
    }
    return OK;
}

enum status units_parse_count(const char *text, uint64_t *value, struct error *err) {
    if (text[0] == '\0' || strspn(text, "0123456789") != strlen(text)) {
        return error_set(err, ERR_USAGE, "'%s' is not a whole number", text);
    }
    errno = 0;
    *value = strtoull(text, NULL, 10);
    if (errno != 0) {
        return error_set(err, ERR_USAGE, "'%s' is larger than 2^64-1", text);
    }
    return OK;
}

const char *units_grouped(uint64_t value, char *buffer) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *out = buffer;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            *out++ = ',';
        }
        *out++ = digits[i];
    }
    *out = '\0';
    return buffer;
}

/* "1,234.5 GB": groups the whole part, keeps the given number of decimals. */
static const char *grouped_decimal(double value, int decimals, const char *unit, char *buffer) {
    char plain[64], whole[UNITS_TEXT];
    snprintf(plain, sizeof plain, "%.*f", decimals, value);
    const char *point = strchr(plain, '.');
    units_grouped((uint64_t)strtoull(plain, NULL, 10), whole);
    snprintf(buffer, UNITS_TEXT, "%.18s%.6s %.6s", whole, point != NULL ? point : "", unit);
    return buffer;
}

struct step {
    double factor;
    const char *name;
};

static const char *stepped(uint64_t bytes, const struct step *steps, char *buffer) {
    while (steps->factor > 1 && (double)bytes < steps->factor) {
        steps++;
    }
    int decimals = steps->factor > 1 ? 1 : 0;
    return grouped_decimal((double)bytes / steps->factor, decimals, steps->name, buffer);
}

const char *units_gb(uint64_t bytes, char *buffer) {
    static const struct step steps[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
    return stepped(bytes, steps, buffer);
}

const char *units_gib(uint64_t bytes, char *buffer) {
    static const struct step steps[] = {
        {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1, "B"}};
    return stepped(bytes, steps, buffer);
}

const char *units_rate(double bytes_per_second, char *buffer) {
    static const struct step steps[] = {{1e8, "GB/s"}, {1e5, "MB/s"}, {1, "kB/s"}};
    static const double factors[] = {1e9, 1e6, 1e3};
    int i = 0;
    while (i < 2 && bytes_per_second < steps[i].factor) {
        i++;
    }
    return grouped_decimal(bytes_per_second / factors[i], i == 0 ? 2 : 1, steps[i].name, buffer);
}

const char *units_seconds(uint64_t ns, char *buffer) {
    return grouped_decimal((double)ns / 1e9, 3, "s", buffer);
}

const char *units_span(uint64_t ns, char *buffer) {
    uint64_t seconds = (ns + NS_PER_SECOND / 2) / NS_PER_SECOND;
    unsigned days = (unsigned)(seconds / 86400), hours = (unsigned)(seconds / 3600 % 24);
    unsigned minutes = (unsigned)(seconds / 60 % 60), rest = (unsigned)(seconds % 60);
    if (days > 0) {
        snprintf(buffer, UNITS_TEXT, "%u d %02u h", days, hours);
    } else if (hours > 0) {
        snprintf(buffer, UNITS_TEXT, "%u h %02u m", hours, minutes);
    } else if (minutes > 0) {
        snprintf(buffer, UNITS_TEXT, "%u m %02u s", minutes, rest);
    } else {
        snprintf(buffer, UNITS_TEXT, "%u s", rest);
    }
    return buffer;
}
