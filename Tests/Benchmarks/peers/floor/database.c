#include "floor.h"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { int8_oid = 20, text_oid = 25, int8_array_oid = 1016, text_array_oid = 1009 };

// An array parameter in the binary format of PostgreSQL.
struct column {
    struct buffer bytes;
    int32_t element, count;
};

struct database {
    PGconn *connection;
    struct column columns[13];
};

static const char tables[] =
    "SET client_min_messages TO warning;"
    "CREATE TABLE IF NOT EXISTS peer_notifications ("
    "    person bigint NOT NULL, id bigint NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), unsent \"char\","
    "    unsent_reason text, event_id text COLLATE \"C\" NOT NULL, type text COLLATE \"C\" NOT NULL,"
    "    title text NOT NULL, body text NOT NULL, link text, data text, target_id text, PRIMARY KEY (person, id));"
    "CREATE TABLE IF NOT EXISTS peer_deliveries ("
    "    person bigint NOT NULL, id bigint NOT NULL, target bigint NOT NULL,"
    "    updated_at timestamptz NOT NULL DEFAULT now(), state \"char\" NOT NULL, reason text, provider_message_id text,"
    "    PRIMARY KEY (person, id, target)) WITH (fillfactor = 50)";

static const char look_up_statement[] =
    "SELECT u.position, p.number, p.push_enabled, coalesce(p.preferences, '{}'), coalesce(p.devices, '[]')"
    " FROM unnest($1::text[]) WITH ORDINALITY AS u (user_id, position)"
    " JOIN people p ON p.user_id = ANY (ARRAY[u.user_id]) AND p.app = 'drop'";

static const char record_statement[] =
    "WITH recorded AS ("
    "    INSERT INTO peer_notifications"
    "        (person, id, event_id, type, title, body, link, data, target_id, unsent, unsent_reason)"
    "    SELECT person, id, event_id, type, title, body, link, data, target_id,"
    "        CASE WHEN reason <> '' THEN 'x'::\"char\" END, nullif(reason, '')"
    "    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],"
    "        $8::text[], $9::text[], $10::text[])"
    "        AS n (person, id, event_id, type, title, body, link, data, target_id, reason)"
    "    ON CONFLICT DO NOTHING RETURNING person, id"
    "), claimed AS ("
    "    INSERT INTO peer_deliveries (person, id, target, state)"
    "    SELECT person, id, target, 's'"
    "    FROM unnest($11::bigint[], $12::bigint[], $13::bigint[]) AS d (person, id, target)"
    "    JOIN recorded USING (person, id)"
    ") SELECT id FROM recorded";

static const char settle_statement[] =
    "UPDATE peer_deliveries d SET state = 'd', provider_message_id = s.name, updated_at = now()"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS s (person, id, target, name)"
    " WHERE d.person = ANY (ARRAY[s.person]) AND d.id = s.id AND d.target = s.target";

// MARK: - Columns

static void add_number(struct buffer *to, int32_t number) {
    number = (int32_t)htonl((uint32_t)number);
    add(to, (struct piece){(const char *)&number, sizeof(number)});
}

// Begins an array of one dimension whose length is written at the end.
static void begin(struct column *column, int32_t element) {
    clear(&column->bytes);
    column->element = element;
    column->count = 0;
    const int32_t head[] = {1, 0, element, 0, 1};
    for (size_t i = 0; i < 5; i++) add_number(&column->bytes, head[i]);
}

static void add_text(struct column *column, struct piece text) {
    add_number(&column->bytes, (int32_t)text.size);
    add(&column->bytes, text);
    column->count++;
}

static void add_integer(struct column *column, int64_t number) {
    uint64_t bytes = __builtin_bswap64((uint64_t)number);
    add_text(column, (struct piece){(const char *)&bytes, sizeof(bytes)});
}

// MARK: - Statements

static PGresult *expect(struct database *database, PGresult *result, ExecStatusType status) {
    if (PQresultStatus(result) != status) fail("asking the database", PQerrorMessage(database->connection));
    return result;
}

// Runs a prepared statement with the first columns.
static PGresult *run(struct database *database, const char *name, int count, ExecStatusType status) {
    const char *values[13];
    int sizes[13], formats[13];
    for (int i = 0; i < count; i++) {
        struct column *column = &database->columns[i];
        int32_t length = (int32_t)htonl((uint32_t)column->count);
        memcpy(column->bytes.bytes + 12, &length, sizeof(length));
        values[i] = column->bytes.bytes;
        sizes[i] = (int)column->bytes.size;
        formats[i] = 1;
    }
    PGresult *result = PQexecPrepared(database->connection, name, count, values, sizes, formats, 1);
    return expect(database, result, status);
}

static int64_t integer(PGresult *rows, int row, int column) {
    uint64_t bytes;
    memcpy(&bytes, PQgetvalue(rows, row, column), sizeof(bytes));
    return (int64_t)__builtin_bswap64(bytes);
}

static struct piece text(PGresult *rows, int row, int column) {
    return (struct piece){PQgetvalue(rows, row, column), (size_t)PQgetlength(rows, row, column)};
}

// The types of a statement's parameters: letters i and t for arrays of bigint and text.
static void prepare(struct database *database, const char *name, const char *statement, const char *letters) {
    Oid types[13];
    int count = (int)strlen(letters);
    for (int i = 0; i < count; i++) types[i] = letters[i] == 'i' ? int8_array_oid : text_array_oid;
    PQclear(expect(database, PQprepare(database->connection, name, statement, count, types), PGRES_COMMAND_OK));
}

static struct database *open_session(void) {
    struct database *database = calloc(1, sizeof(*database));
    database->connection = PQconnectdb(setting("DATABASE_URL"));
    if (PQstatus(database->connection) != CONNECTION_OK) {
        fail("connecting to the database", PQerrorMessage(database->connection));
    }
    char *schema = PQescapeIdentifier(database->connection, setting("SCHEMA"), strlen(setting("SCHEMA")));
    char settings[512];
    // One plan for every batch: the tables grow faster than their statistics.
    snprintf(settings, sizeof(settings),
             "SET search_path TO %s; SET plan_cache_mode TO force_generic_plan; SET enable_seqscan TO off;"
             "SET enable_bitmapscan TO off; SET enable_memoize TO off; SET jit TO off",
             schema);
    PQfreemem(schema);
    PQclear(expect(database, PQexec(database->connection, settings), PGRES_COMMAND_OK));
    return database;
}

void create_tables(void) {
    struct database *database = open_session();
    PQclear(expect(database, PQexec(database->connection, tables), PGRES_COMMAND_OK));
    PQfinish(database->connection);
    free(database);
}

struct database *open_database(void) {
    struct database *database = open_session();
    prepare(database, "look up", look_up_statement, "t");
    prepare(database, "record", record_statement, "iittttttttiii");
    prepare(database, "settle", settle_statement, "iiit");
    return database;
}

// MARK: - Steps

void look_up(struct database *database, struct event *events, int count) {
    static _Thread_local PGresult *rows;
    // The tokens of the devices refer to the rows until the next batch.
    PQclear(rows);
    begin(&database->columns[0], text_oid);
    for (int i = 0; i < count; i++) add_text(&database->columns[0], events[i].user);
    rows = run(database, "look up", 1, PGRES_TUPLES_OK);
    if (PQntuples(rows) != count) fail("looking up users", "some are unknown");
    for (int row = 0; row < count; row++) {
        struct event *event = &events[integer(rows, row, 0) - 1];
        event->person = integer(rows, row, 1);
        read_devices(event, text(rows, row, 4));
        decide(event, *PQgetvalue(rows, row, 2) != 0, text(rows, row, 3));
    }
}

static struct piece whole(const struct buffer *buffer) { return (struct piece){buffer->bytes, buffer->size}; }

static int by_number(const void *number, const void *event) {
    int64_t a = *(const int64_t *)number, b = ((const struct event *)event)->number;
    return a < b ? -1 : a > b;
}

void record(struct database *database, struct event *events, int count) {
    struct column *c = database->columns;
    for (int i = 0; i < 13; i++) begin(&c[i], i < 2 || i > 9 ? int8_oid : text_oid);
    for (int i = 0; i < count; i++) {
        const struct event *event = &events[i];
        add_integer(&c[0], event->person);
        add_integer(&c[1], event->number);
        const struct piece texts[] = {event->id,           event->kind->name, whole(&event->title), whole(&event->body),
                                      whole(&event->link), event->data,       event->target,        event->unsent};
        for (int j = 0; j < 8; j++) add_text(&c[2 + j], texts[j]);
        for (int j = 0; event->unsent.size == 0 && j < event->device_count; j++) {
            add_integer(&c[10], event->person);
            add_integer(&c[11], event->number);
            add_integer(&c[12], event->devices[j].target);
        }
    }
    PGresult *rows = run(database, "record", 13, PGRES_TUPLES_OK);
    for (int row = 0; row < PQntuples(rows); row++) {
        int64_t number = integer(rows, row, 0);
        struct event *event = bsearch(&number, events, (size_t)count, sizeof(*events), by_number);
        if (event) event->is_new = true;
    }
    PQclear(rows);
}

void settle(struct database *database, const struct push *pushes, int count) {
    struct column *c = database->columns;
    for (int i = 0; i < 4; i++) begin(&c[i], i < 3 ? int8_oid : text_oid);
    for (int i = 0; i < count; i++) {
        add_integer(&c[0], pushes[i].event->person);
        add_integer(&c[1], pushes[i].event->number);
        add_integer(&c[2], pushes[i].target);
        add_text(&c[3], pushes[i].name);
    }
    PQclear(run(database, "settle", 4, PGRES_COMMAND_OK));
}
