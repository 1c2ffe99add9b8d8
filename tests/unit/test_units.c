#include "tests/unit/support.h"

#include "base/names.h"
#include "base/units.h"

static void sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0}, {"4096", 4096}, {"8MiB", 8388608}, {"8 MiB", 8388608}, {"2GB", 2000000000},
        {"1.5GiB", 1610612736}, {"1kB", 1000}, {"1KiB", 1024}, {"122.88TB", 122880000000000},
        {"18446744073709551615", UINT64_MAX}, {"16383PiB", UINT64_C(16383) << 50},
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        uint64_t bytes = 1;
        assert_int_equal(units_parse_size(good[i].text, &bytes, NULL), OK);
        assert_true(bytes == good[i].bytes);
    }
    static const char *const bad[] = {"", "12Q", "-1", "-5GB", "1e400", "99999999999999999999",
                                      "16384PiB", "1.5.2GB", "GB", "0x10", "nan", "inf", "1 G B",
                                      "18446744073709551616", "99999999PB"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        uint64_t bytes = 77;
        struct error err = {0};
        if (units_parse_size(bad[i], &bytes, &err) == OK) {
            fail_msg("'%s' was taken as %llu", bad[i], (unsigned long long)bytes);
        }
        assert_int_equal(err.status, ERR_USAGE);
        assert_true(bytes == 77);
    }
}

static void durations_and_numbers(void **state) {
    (void)state;
    uint64_t ns;
    assert_int_equal(units_parse_duration("5s", &ns, NULL), OK);
    assert_true(ns == 5 * NS_PER_SECOND);
    assert_int_equal(units_parse_duration("200ms", &ns, NULL), OK);
    assert_true(ns == 200000000);
    assert_int_equal(units_parse_duration("1.5h", &ns, NULL), OK);
    assert_true(ns == 5400 * NS_PER_SECOND);
    assert_int_equal(units_parse_duration("5 parsecs", &ns, NULL), ERR_USAGE);
    double value;
    assert_int_equal(units_parse_number("1/1000", &value, NULL), OK);
    assert_true(value == 1.0 / 1000);
    assert_int_equal(units_parse_number("88%", &value, NULL), OK);
    assert_true(value == 0.88);
    assert_int_equal(units_parse_number("1/0", &value, NULL), ERR_USAGE);
    assert_int_equal(units_parse_number("88%%", &value, NULL), ERR_USAGE);
    assert_int_equal(units_parse_number("", &value, NULL), ERR_USAGE);
}

static void texts(void **state) {
    (void)state;
    char buffer[UNITS_TEXT];
    assert_string_equal(units_gb(UINT64_C(1636164354048), buffer), "1,636.2 GB");
    assert_string_equal(units_gib(UINT64_C(1636164354048), buffer), "1,523.8 GiB");
    assert_string_equal(units_gb(999, buffer), "999 B");
    assert_string_equal(units_rate(3.41e9, buffer), "3.41 GB/s");
    assert_string_equal(units_seconds(UINT64_C(467930000000), buffer), "467.930 s");
    assert_string_equal(units_grouped(UINT64_MAX, buffer), "18,446,744,073,709,551,615");
    assert_string_equal(units_span(3720 * NS_PER_SECOND, buffer), "1 h 02 m");
}

static void names(void **state) {
    (void)state;
    static const char *const known[] = {"llama-3.1-405b", "mixtral-8x7b", "gpt3-175b", "llama-2-7b"};
    char nearest[256];
    assert_true(names_equal("llama3.1-405b", "LLaMA-3.1-405B"));
    assert_false(names_equal("llama-3.1-405b", "llama-3.1-70b"));
    assert_false(names_equal("---", "..."));
    names_nearest("mixtral", known, COUNT_OF(known), nearest, sizeof nearest);
    assert_memory_equal(nearest, "mixtral-8x7b", 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(durations_and_numbers),
        cmocka_unit_test(texts),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
