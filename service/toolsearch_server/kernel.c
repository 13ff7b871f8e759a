/* The sums and selections of a search. kernel.py calls them, and says what they are for.

   Nothing is allocated or kept here: memory is the caller's, and so is the promise that what it points to is as long as it says.
   Plain C without headers of Python, so that one build serves all versions of it. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Postings by term: those of keys[i] are from starts[i] to starts[i + 1]. Keys are sorted. */
typedef struct {
    const int64_t *keys;
    const int64_t *starts;
    const int32_t *slots;
    const uint16_t *codes;
    int64_t terms;
} part;

static int64_t term_of(const part *postings, int64_t key)
{
    int64_t low = 0, high = postings->terms;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (postings->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < postings->terms && postings->keys[low] == key ? low : -1;
}

/* What is best of many: a heap with the least of the best at its top. */

static void sink(double *heap, int64_t size, double value)
{
    int64_t place = 0;
    for (;;) {
        int64_t child = 2 * place + 1;
        if (child >= size)
            break;
        if (child + 1 < size && heap[child + 1] < heap[child])
            child++;
        if (value <= heap[child])
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = value;
}

static void rise(double *heap, int64_t size, double value)
{
    int64_t place = size;
    while (place > 0 && value < heap[(place - 1) / 2]) {
        heap[place] = heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap[place] = value;
}

typedef struct {
    double value;
    int64_t number;
} ranked;

static int best_first(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static double rounded(double value, double scale)
{
    return rint(value * scale) / scale;
}

/* The documents with the highest sums, of those that have any of the first `keys - more` terms; the last `more` only add. All that
   tie with the last of `wanted` are there. `by_slot` is room for 2 * size sums, `order` for size results and `heap` for wanted ones.
   Returns how many results there are, best first; `total` counts all documents that match. */
int64_t best_words(const part *parts, int64_t part_count, const double *worths, int64_t size, const int64_t *dead, int64_t dead_count,
                   const int64_t *keys, const double *weights, int64_t key_count, int64_t more, int64_t wanted, double scale,
                   double *by_slot, double *heap, ranked *order, int64_t *slots, double *scores, int64_t *total)
{
    double *by_more = by_slot + size;
    memset(by_slot, 0, 2 * size * sizeof(double));
    for (int64_t i = 0; i < key_count; i++) {
        int64_t place[2], having = 0;
        for (int64_t p = 0; p < part_count; p++) {
            place[p] = term_of(&parts[p], keys[i]);
            if (place[p] >= 0)
                having += parts[p].starts[place[p] + 1] - parts[p].starts[place[p]];
        }
        if (!having)
            continue;
        double rarity = weights[i] * log(1 + (size + 0.5 - having) / (having + 0.5));
        double *sums = i < key_count - more ? by_slot : by_more;
        for (int64_t p = 0; p < part_count; p++) {
            if (place[p] < 0)
                continue;
            const int32_t *slot = parts[p].slots;
            const uint16_t *code = parts[p].codes;
            int64_t end = parts[p].starts[place[p] + 1];
            for (int64_t j = parts[p].starts[place[p]]; j < end; j++)
                sums[slot[j]] += rarity * worths[code[j]];
        }
    }
    for (int64_t i = 0; i < dead_count; i++)
        by_slot[dead[i]] = 0.0;

    int64_t matching = 0, kept = 0;
    for (int64_t slot = 0; slot < size; slot++) {
        if (by_slot[slot] == 0.0)
            continue;
        matching++;
        double score = by_slot[slot] += by_more[slot];
        if (kept < wanted)
            rise(heap, kept++, score);
        else if (score > heap[0])
            sink(heap, kept, score);
    }
    *total = matching;
    int64_t found = 0;
    for (int64_t slot = 0; kept && slot < size; slot++)
        if (by_slot[slot] != 0.0 && by_slot[slot] >= heap[0])
            order[found++] = (ranked){rounded(by_slot[slot], scale), slot};
    qsort(order, found, sizeof(ranked), best_first);
    for (int64_t i = 0; i < found; i++) {
        slots[i] = order[i].number;
        scores[i] = order[i].value;
    }
    return found;
}

/* The same code for several generations of processors; which one runs is decided when the library is loaded. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

typedef float lanes __attribute__((vector_size(64)));

static inline __attribute__((always_inline)) float dot(const float *left, const float *right, int64_t length)
{
    lanes sums = {0}, more = {0}, a, b;
    int64_t i = 0;
    for (; i + 32 <= length; i += 32) {
        memcpy(&a, left + i, sizeof a);
        memcpy(&b, right + i, sizeof b);
        sums += a * b;
        memcpy(&a, left + i + 16, sizeof a);
        memcpy(&b, right + i + 16, sizeof b);
        more += a * b;
    }
    sums += more;
    float sum = 0.0f;
    for (int lane = 0; lane < 16; lane++)
        sum += sums[lane];
    for (; i < length; i++)
        sum += left[i] * right[i];
    return sum;
}

FOR_EACH_PROCESSOR
static void compare(const float *rows, int64_t dimensions, int64_t size, const float *with, float *products)
{
    for (int64_t row = 0; row < size; row++)
        products[row] = dot(rows + row * dimensions, with, dimensions);
}

FOR_EACH_PROCESSOR
static void compare_coarsely(const int8_t *codes, const float *steps, int64_t dimensions, int64_t size, const int16_t *with,
                             float step, float *products)
{
    for (int64_t row = 0; row < size; row++) {
        const int8_t *code = codes + row * dimensions;
        int32_t sum = 0;
        for (int64_t i = 0; i < dimensions; i++)
            sum += (int32_t)code[i] * with[i];
        products[row] = (float)sum * (steps[row] * step);
    }
}

/* The `wanted` highest cosines from `least` on, of all slots whose cosine is not below the bound that `sink` and `rise` keep. Returns
   how many there are, best first. Of equal ones the first are taken. */
static int64_t highest(const float *cosines, int64_t size, float least, int64_t wanted, double *heap, ranked *order, int64_t *slots)
{
    int64_t kept = 0, found = 0;
    for (int64_t slot = 0; slot < size; slot++) {
        if (!(cosines[slot] >= least))
            continue;
        if (kept < wanted)
            rise(heap, kept++, cosines[slot]);
        else if (kept && cosines[slot] > heap[0])
            sink(heap, kept, cosines[slot]);
    }
    int64_t above = 0;
    for (int64_t slot = 0; kept && slot < size; slot++)
        above += cosines[slot] >= least && cosines[slot] > heap[0];
    int64_t ties = kept - above;
    for (int64_t slot = 0; kept && slot < size; slot++)
        if (cosines[slot] >= least && (cosines[slot] > heap[0] || (cosines[slot] == heap[0] && ties-- > 0)))
            order[found++] = (ranked){cosines[slot], slot};
    qsort(order, found, sizeof(ranked), best_first);
    for (int64_t i = 0; i < found; i++)
        slots[i] = order[i].number;
    return found;
}

/* The slots whose vectors are nearest to the query, best first: at most `wanted`, for which there is room, with cosines that are at
   least `least`. Says in `usual` what is the mean and the deviation of all, taken together with `prior` others. What is `absent` has
   no part in it, and gets the cosine -1. */
int64_t nearest(const float *rows, int64_t dimensions, const float *query, float *cosines, int64_t size, const int64_t *absent,
                int64_t absent_count, double prior, double prior_mean, double prior_deviation, float least, int64_t wanted,
                double *heap, ranked *order, int64_t *slots, double *usual)
{
    compare(rows, dimensions, size, query, cosines);
    double sum = 0.0, squares = 0.0, count = (double)(size - absent_count) + prior;
    for (int64_t i = 0; i < absent_count; i++)
        cosines[absent[i]] = 0.0f;
    for (int64_t slot = 0; slot < size; slot++)
        sum += cosines[slot];
    double mean = (sum + prior * prior_mean) / count;
    for (int64_t slot = 0; slot < size; slot++)
        squares += (cosines[slot] - mean) * (cosines[slot] - mean);
    squares -= absent_count * mean * mean;
    for (int64_t i = 0; i < absent_count; i++)
        cosines[absent[i]] = -1.0f;
    usual[0] = mean;
    usual[1] = sqrt((squares + prior * prior_deviation * prior_deviation) / count);
    return highest(cosines, size, least, wanted, heap, order, slots);
}

/* What coarse.py keeps of rows: as whole numbers of steps, and the length of what was lost; their sum, and that of their squares. */
typedef struct {
    const int8_t *codes;
    const float *steps;
    const float *lost;
    const double *sum;
    const double *squares;
} coarse_rows;

enum { LONGEST = 1024, QUERY_RANGE = 8191 };

/* The same as `nearest`, with the real rows read only where they may be among the wanted. Other cosines are about right. */
int64_t nearest_coarsely(const coarse_rows *coarse, const float *rows, int64_t dimensions, const float *query, float *cosines,
                         int64_t size, const int64_t *absent, int64_t absent_count, double prior, double prior_mean,
                         double prior_deviation, float least, int64_t wanted, double *heap, ranked *order, int64_t *slots,
                         double *usual)
{
    int16_t with[LONGEST];
    float largest = 0.0f, lost = 0.0f, length = 0.0f;
    for (int64_t i = 0; i < dimensions; i++)
        largest = fmaxf(largest, fabsf(query[i]));
    float step = largest > 0.0f ? largest / QUERY_RANGE : 1.0f;
    for (int64_t i = 0; i < dimensions; i++) {
        with[i] = (int16_t)rintf(query[i] / step);
        float rest = query[i] - with[i] * step;
        lost += rest * rest;
        length += query[i] * query[i];
    }
    lost = sqrtf(lost) * 1.02f + 1e-5f; /* rows are at most of length one, and a little more when they are coarse */
    length = sqrtf(length) * 1.0001f;
    compare_coarsely(coarse->codes, coarse->steps, dimensions, size, with, step, cosines);
    for (int64_t i = 0; i < absent_count; i++)
        cosines[absent[i]] = -INFINITY;

    int64_t kept = 0;
    for (int64_t slot = 0; slot < size; slot++) {
        float surely = cosines[slot] - coarse->lost[slot] * length - lost;
        if (kept < wanted && cosines[slot] > -INFINITY)
            rise(heap, kept++, surely);
        else if (kept && surely > heap[0])
            sink(heap, kept, surely);
    }
    float bound = kept == wanted && kept && heap[0] > least ? (float)heap[0] : least;
    for (int64_t slot = 0; slot < size; slot++) {
        float perhaps = cosines[slot] + coarse->lost[slot] * length + lost;
        if (perhaps < bound)
            continue;
        cosines[slot] = dot(rows + slot * dimensions, query, dimensions);
    }

    double sum = 0.0, squares = 0.0, count = (double)(size - absent_count) + prior;
    for (int64_t i = 0; i < dimensions; i++) {
        double inner = 0.0;
        for (int64_t j = 0; j < dimensions; j++)
            inner += coarse->squares[i * dimensions + j] * query[j];
        squares += inner * query[i];
        sum += coarse->sum[i] * query[i];
    }
    double mean = (sum + prior * prior_mean) / count;
    squares += (size - absent_count) * mean * mean - 2.0 * mean * sum;
    usual[0] = mean;
    usual[1] = sqrt((fmax(squares, 0.0) + prior * prior_deviation * prior_deviation) / count);
    for (int64_t i = 0; i < absent_count; i++)
        cosines[absent[i]] = -1.0f;
    return highest(cosines, size, bound > least ? bound : least, wanted, heap, order, slots);
}

/* The exact cosines of some slots, but for those that have none. */
int64_t compare_exactly(const float *rows, int64_t dimensions, const float *query, float *cosines, const int64_t *slots, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (cosines[slots[i]] > -1.0f)
            cosines[slots[i]] = dot(rows + slots[i] * dimensions, query, dimensions);
    return count;
}

/* What was found by words, with its share of the best score, and what was found by meaning, in one list, best first: shares plus
   the weighted standard scores of the cosines. What is `missing` has none. `marks` is room for size bytes, the other results for
   found + near. Returns how many there are. */
int64_t blend(const int64_t *found, const double *found_scores, int64_t found_count, const int64_t *near, int64_t near_count,
              const float *cosines, int64_t size, const int64_t *missing, int64_t missing_count, const double *usual, double weight,
              double scale, uint8_t *marks, ranked *order, int64_t *candidates, int64_t *slots, double *scores, double *shares)
{
    enum { FOUND = 1, MISSING = 2 };
    double best = found_count && found_scores[0] > 0.0 ? found_scores[0] : 1.0; /* a sum may be rounded to nothing */
    int64_t count = 0;
    memset(marks, 0, size);
    for (int64_t i = 0; i < missing_count; i++)
        marks[missing[i]] = MISSING;
    for (int64_t i = 0; i < found_count + near_count; i++) {
        int64_t slot = i < found_count ? found[i] : near[i - found_count];
        if (marks[slot] & FOUND)
            continue;
        float unusual = marks[slot] & MISSING ? 0.0f : (float)((cosines[slot] - usual[0]) / usual[1]);
        double share = i < found_count ? found_scores[i] / best : 0.0;
        marks[slot] |= FOUND;
        order[count] = (ranked){rounded(share + weight * unusual, scale), count};
        candidates[count++] = i;
    }
    qsort(order, count, sizeof(ranked), best_first);
    for (int64_t i = 0; i < count; i++) {
        int64_t from = candidates[order[i].number];
        slots[i] = from < found_count ? found[from] : near[from - found_count];
        shares[i] = from < found_count ? found_scores[from] / best : 0.0;
        scores[i] = order[i].value;
    }
    return count;
}

/* The `wanted` best together: of what is more alike than `same`, the lesser loses `weight` times the rest. `rows` are the vectors by
   slot; a slot below zero has none. `scores` are used up; what is no number is never chosen. Says the places of the chosen in that
   list, and what each of them lost. */
FOR_EACH_PROCESSOR
int64_t varied(const float *rows, int64_t dimensions, const int64_t *slots, double *scores, int64_t count, double same, double weight,
               int64_t wanted, double *losses, int64_t *places, double *lost)
{
    int64_t chosen = 0;
    for (int64_t i = 0; i < count; i++)
        losses[i] = 0.0;
    for (; chosen < wanted && chosen < count; chosen++) {
        int64_t best = -1;
        for (int64_t i = 0; i < count; i++)
            if (scores[i] > -INFINITY && (best < 0 || scores[i] - losses[i] > scores[best] - losses[best]))
                best = i;
        if (best < 0)
            break;
        places[chosen] = best;
        lost[chosen] = losses[best];
        scores[best] = -INFINITY;
        for (int64_t i = 0; slots[best] >= 0 && i < count; i++) {
            if (scores[i] == -INFINITY || slots[i] < 0)
                continue;
            double likeness = dot(rows + slots[best] * dimensions, rows + slots[i] * dimensions, dimensions);
            double loss = (likeness - same) * weight;
            if (loss > losses[i])
                losses[i] = loss;
        }
    }
    return chosen;
}
