package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

const tables = `
CREATE TABLE IF NOT EXISTS peer_notifications (
	person bigint NOT NULL, id bigint NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), unsent "char",
	unsent_reason text, event_id text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL, title text NOT NULL,
	body text NOT NULL, link text, data text, target_id text, PRIMARY KEY (person, id)
);
CREATE TABLE IF NOT EXISTS peer_deliveries (
	person bigint NOT NULL, id bigint NOT NULL, target bigint NOT NULL,
	updated_at timestamptz NOT NULL DEFAULT now(), state "char" NOT NULL, reason text, provider_message_id text,
	PRIMARY KEY (person, id, target)
) WITH (fillfactor = 50)`

const (
	lookUp = `SELECT number, user_id, push_enabled, coalesce(timezone, ''), coalesce(preferences, '{}'),
		coalesce(devices, '[]')
		FROM people WHERE app = $1 AND user_id = ANY ($2::text[])`
	record = `WITH recorded AS (
		INSERT INTO peer_notifications
			(person, id, event_id, type, title, body, link, data, target_id, unsent, unsent_reason)
		SELECT person, id, event_id, type, title, body, link, data, nullif(target_id, ''),
			CASE WHEN reason <> '' THEN 'x'::"char" END, nullif(reason, '')
		FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
			$9::text[], $10::text[])
			AS n (person, id, event_id, type, title, body, link, data, target_id, reason)
		ON CONFLICT DO NOTHING
		RETURNING person, id
	), claimed AS (
		INSERT INTO peer_deliveries (person, id, target, state)
		SELECT person, id, target, 's'
		FROM unnest($11::bigint[], $12::bigint[], $13::bigint[]) AS d (person, id, target) JOIN recorded USING (person, id)
	)
	SELECT id FROM recorded`
	settle = `UPDATE peer_deliveries d
		SET state = s.state::"char", reason = nullif(s.reason, ''), provider_message_id = nullif(s.name, ''),
			updated_at = now()
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[])
			AS s (person, id, target, state, reason, name)
		WHERE d.person = ANY (ARRAY[s.person]) AND d.id = s.id AND d.target = s.target`
)

type store struct{ pool *pgxpool.Pool }

func openStore(ctx context.Context, address, schema string) (*store, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	config.MaxConns = overlap
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		// One plan for every batch: the tables grow faster than their statistics.
		_, err := c.Exec(ctx, fmt.Sprintf(`SET search_path TO %s; SET plan_cache_mode TO force_generic_plan;
			SET enable_seqscan TO off; SET enable_bitmapscan TO off; SET enable_memoize TO off; SET jit TO off`,
			pgx.Identifier{schema}.Sanitize()))
		return err
	}
	pool, err := pgxpool.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, tables)
	return &store{pool}, err
}

// people returns the users by their names.
func (s *store) people(ctx context.Context, users []string) (map[string]*person, error) {
	rows, err := s.pool.Query(ctx, lookUp, app, users)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make(map[string]*person, len(users))
	for rows.Next() {
		var p person
		var zone string
		var chosen, devices []byte
		if err := rows.Scan(&p.number, &p.user, &p.pushEnabled, &zone, &chosen, &devices); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(chosen, &p.preferences); err != nil {
			return nil, err
		}
		var all []device
		if err := json.Unmarshal(devices, &all); err != nil {
			return nil, err
		}
		for _, device := range all {
			if device.token != "" {
				p.devices = append(p.devices, device)
			}
		}
		if p.zone, err = location(zone); err != nil {
			return nil, err
		}
		found[p.user] = &p
	}
	return found, rows.Err()
}

// record writes the notifications and their deliveries, and returns the numbers of those that are new.
func (s *store) record(ctx context.Context, all []*notification) (map[int64]bool, error) {
	size := len(all)
	people, ids := make([]int64, size), make([]int64, size)
	var texts [8][]string
	for column := range texts {
		texts[column] = make([]string, size)
	}
	var owners, owned, targets []int64
	for i, n := range all {
		people[i], ids[i] = n.person.number, n.number
		for column, text := range []string{
			n.ID, n.EventType, n.title, n.text, n.web, n.data, n.TargetID, n.unsent,
		} {
			texts[column][i] = text
		}
		if n.unsent != "" {
			continue
		}
		for _, device := range n.person.devices {
			owners, owned, targets = append(owners, n.person.number), append(owned, n.number), append(targets, device.target)
		}
	}
	rows, err := s.pool.Query(ctx, record, people, ids, texts[0], texts[1], texts[2], texts[3], texts[4], texts[5],
		texts[6], texts[7], owners, owned, targets)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	fresh := make(map[int64]bool, size)
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		fresh[id] = true
	}
	return fresh, rows.Err()
}

// settle stores the outcomes of pushes.
func (s *store) settle(ctx context.Context, pushes []*push) error {
	size := len(pushes)
	people, ids, targets := make([]int64, size), make([]int64, size), make([]int64, size)
	states, reasons, names := make([]string, size), make([]string, size), make([]string, size)
	for i, p := range pushes {
		people[i], ids[i], targets[i] = p.person.number, p.number, p.device.target
		states[i], reasons[i], names[i] = p.state, p.reason, p.name
	}
	_, err := s.pool.Exec(ctx, settle, people, ids, targets, states, reasons, names)
	return err
}

// targetNumber returns the eight bytes that the digits of a subscription's id represent.
func targetNumber(id string) (int64, error) {
	number, err := strconv.ParseUint(strings.TrimPrefix(id, "sub_"), 16, 64)
	return int64(number), err
}

// The zones in use; loading one reads a file.
var zones sync.Map

func location(name string) (*time.Location, error) {
	if name == "" {
		name = defaultTimezone
	}
	if known, found := zones.Load(name); found {
		return known.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err
}
