#include "cli/results_dir.h"

#include "io/folder.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 1000 };

/* A model may be a path; only its last part, without what a file name dislikes. */
static const char *model_word(const char *model, struct arena *arena) {
    const char *slash = strrchr(model, '/');
    char *word = arena_text(arena, slash != NULL ? slash + 1 : model);
    for (char *at = word; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at) && strchr("._-", *at) == NULL) {
            *at = '_';
        }
    }
    if (strlen(word) > 60) {
        word[60] = '\0';
    }
    return word;
}

static enum status make_parents(const char *path, struct arena *arena, struct error *err) {
    char *part = arena_text(arena, path);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST) {
            return error_set(err, ERR_USAGE, "--results: cannot make '%s': %s", part,
                             error_words(errno));
        }
        *slash = '/';
    }
    return OK;
}

/* Whether some folder on the way to the path is marked as ckptsim's own: results in there would be taken
 * for somebody else's files by whoever cleans it. */
static bool leads_into_marked(const char *path, struct arena *arena) {
    char *part = arena_text(arena, path);
    for (size_t length = strlen(part); length > 0; length--) {
        if (part[length] != '/' && part[length] != '\0') {
            continue;
        }
        part[length] = '\0';
        if (access(arena_printf(arena, "%s/" FOLDER_MARKER, part), F_OK) == 0) {
            return true;
        }
    }
    return false;
}

enum status results_dir_make(const char *wanted, const char *time, const char *model,
                             struct arena *arena, const char **path, struct error *err) {
    const char *base =
        wanted != NULL ? wanted : arena_printf(arena, "results/%s-%s", time, model_word(model, arena));
    char real[PATH_MAX];
    const char *slash = strrchr(base, '/');
    const char *parent = slash != NULL ? arena_text_n(arena, base, (size_t)(slash - base)) : ".";
    bool known = realpath(parent, real) != NULL; /* else one of the parents is yet to be made */
    if (leads_into_marked(base, arena) || (known && leads_into_marked(real, arena))) {
        return error_set(err, ERR_USAGE, "--results: '%s' is in a folder of checkpoints, which is "
                                         "cleaned as a whole; another place is needed", base);
    }
    if (make_parents(base, arena, err) != OK) {
        return err->status;
    }
    for (int i = 1; i <= TRIES; i++) {
        const char *name = i == 1 ? base : arena_printf(arena, "%s-%d", base, i);
        if (mkdir(name, 0755) == 0) {
            *path = name;
            return OK;
        }
        if (errno != EEXIST) {
            return error_set(err, ERR_USAGE, "--results: cannot make '%s': %s", name,
                             error_words(errno));
        }
        if (wanted != NULL) {
            break;
        }
    }
    struct stat info;
    if (stat(base, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return error_set(err, ERR_USAGE, "--results: '%s' is not a folder", base);
    }
    if (access(base, W_OK | X_OK) != 0) {
        return error_set(err, ERR_USAGE, "--results: cannot write to '%s': %s", base,
                         error_words(errno));
    }
    static const char *const ours[] = {"result.json", "journal.jsonl"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (access(arena_printf(arena, "%s/%s", base, ours[i]), F_OK) == 0) {
            return error_set(err, ERR_USAGE, "--results: '%s' holds a result already (%s)", base,
                             ours[i]);
        }
    }
    *path = base;
    return OK;
}

void results_dir_drop(const char *path) {
    rmdir(path);
}
