/* See words.h. */
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1e9

static bool is_switch(const Word *word)
{
    return word->least > word->most;
}

static bool number(const Word *word, const char *text)
{
    char *rest;
    double value = strtod(text, &rest);
    if (rest == text || *rest != 0 || !(value >= word->least && value <= word->most))
        return false;
    if (word->whole && value != (double)(long long)value)
        return false;
    *word->value = value;
    return true;
}

static bool list_of(const WordList *list, const char *text)
{
    int count = 0;
    while (count < list->room) {
        char *rest;
        double value = strtod(text, &rest);
        if (rest == text || value < 1 || value > MOST || value != (double)(int)value)
            return false;
        list->numbers[count++] = (int)value;
        text = rest + 1;
        if (*rest == 0) {
            *list->count = count;
            return true;
        }
        if (*rest != ',')
            return false;
    }
    return false;
}

static const Word *find(const Word *table, int options, const char *name)
{
    for (int at = 0; at < options; at++)
        if (strcmp(table[at].name, name) == 0)
            return &table[at];
    return NULL;
}

void words_read(int count, char **words, const Word *table, int options, const WordList *list,
                char *why, int why_bytes)
{
    *why = 0;
    for (int at = 1; at < count && !*why; at++) {
        const char *name = strncmp(words[at], "--", 2) == 0 ? words[at] + 2 : "";
        const Word *word = find(table, options, name);
        bool listed = list && strcmp(list->name, name) == 0;
        if (!word && !listed)
            snprintf(why, (size_t)why_bytes, "'%s' is no option; see --help", words[at]);
        else if (word && is_switch(word))
            *word->value = 1;
        else if (++at == count)
            snprintf(why, (size_t)why_bytes, "--%s lacks a value; see --help", name);
        else if (listed ? !list_of(list, words[at]) : !number(word, words[at]))
            snprintf(why, (size_t)why_bytes, "--%s cannot be '%s'; see --help", name, words[at]);
    }
}

void words_usage(const Word *table, int options, const WordList *list)
{
    for (int at = 0; at < options; at++) {
        const Word *word = &table[at];
        if (is_switch(word))
            printf("  --%-16s %s\n", word->name, word->meaning);
        else
            printf("  --%-16s %s (%g to %g; default %g)\n", word->name, word->meaning,
                   word->least, word->most, *word->value);
    }
    if (list)
        printf("  --%-16s %s\n", list->name, list->meaning);
}
