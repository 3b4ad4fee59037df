// A plain Go server with the routes of workload W5: net/http, encoding/json, pgx. It accepts the same tokens, sends the
// same queries with the same rights and the same settings of its connections, and gives the same answers with the same
// tags. bellhop bench api compares the answers before it measures.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log"
	"math"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

const (
	reach   = 10000
	columns = `listed_at, id, type, title, body, urgency::bigint, created_at, read_at IS NOT NULL, seen_at IS NOT NULL,
		archived_at IS NOT NULL, CASE WHEN snoozed_until > now() THEN snoozed_until END, venue_id, link_web, link_mobile, link_scheme, data,
		target_id, metadata, extras::jsonb ->> 'imageUrl', extras::jsonb ->> 'expiresAt'`
	isUnread = `read_at IS NULL AND archived_at IS NULL AND (snoozed_until IS NULL OR snoozed_until <= now())`
	signIn   = `SELECT sign_in($1, $2, $3, $4)`
	lock     = `SELECT pg_advisory_xact_lock(hashtextextended('inbox ' || $1::text || ' ' || $2::text, 1))`
	newest   = `FROM inbox WHERE person = (SELECT signed_in_person()) ORDER BY created_at DESC, id DESC LIMIT `
	unread   = `SELECT count(*) FROM (SELECT read_at, archived_at, snoozed_until, type, unsent FROM inbox
		WHERE person = (SELECT signed_in_person()) AND read_at IS NULL AND archived_at IS NULL
		ORDER BY urgency LIMIT 10000) AS shown WHERE ` + isUnread + ` AND type <> ALL ($1::text[])`
	settings = `SELECT hashtextextended(concat_ws(' ',
		(SELECT (r.push_enabled, r.email_enabled, p.email_enabled, r.locale, r.timezone, r.email)
		 FROM recipients r LEFT JOIN people p ON p.app = r.app AND p.user_id = r.user_id
		 WHERE r.app = $1 AND r.user_id = $2),
		(SELECT preferences FROM notification_preferences WHERE app = $1 AND profile_id = $2)), 0)`
	mark = `UPDATE inbox SET read_at = now(), seen_at = coalesce(seen_at, now())
		WHERE person = (SELECT signed_in_person()) AND id = ANY ($1::bigint[]) AND NOT (read_at IS NOT NULL)`
)

var (
	pinned = fmt.Sprintf(`SELECT %s FROM (SELECT *, created_at AS listed_at FROM inbox
		WHERE person = (SELECT signed_in_person()) AND urgency <= 0 AND read_at IS NULL AND archived_at IS NULL
		ORDER BY urgency OFFSET 0) AS urgent
		WHERE %s AND ((created_at, id) < (SELECT created_at, id %s 1 OFFSET 999)) IS NOT TRUE
		ORDER BY listed_at DESC, id DESC LIMIT 10`, columns, isUnread, newest)
	list = fmt.Sprintf(`SELECT %s FROM (%s UNION ALL %s) AS listed ORDER BY listed_at DESC, id DESC LIMIT $5`, columns,
		chosen("created_at", "true", "archived_at IS NULL AND snoozed_until IS NULL"),
		chosen("snoozed_until", "snoozed_until <= now()", "archived_at IS NULL"))
)

func chosen(column, row, condition string) string {
	return fmt.Sprintf(`(SELECT * FROM (SELECT *, %[1]s AS listed_at FROM inbox
		WHERE person = (SELECT signed_in_person()) AND (%[1]s, id) < ($1, $2) AND %[2]s
		ORDER BY %[1]s DESC, id DESC LIMIT %[4]d) AS looked_at
		WHERE %[3]s AND (NOT $3 OR read_at IS NULL) AND ($4::text[] IS NULL OR type = ANY ($4))
		ORDER BY listed_at DESC, id DESC LIMIT $5)`, column, row, condition, reach)
}

type item struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Title        string          `json:"title"`
	Body         string          `json:"body"`
	Priority     string          `json:"priority"`
	CreatedAt    string          `json:"createdAt"`
	TargetID     *string         `json:"targetId"`
	Metadata     json.RawMessage `json:"metadata"`
	VenueID      *string         `json:"venueId"`
	PushVenueID  *string         `json:"venue_id"`
	ImageURL     *string         `json:"imageUrl"`
	ExpiresAt    *string         `json:"expiresAt"`
	Data         json.RawMessage `json:"data"`
	Link         *link           `json:"link"`
	Read         bool            `json:"read"`
	Seen         bool            `json:"seen"`
	Archived     bool            `json:"archived"`
	SnoozedUntil *string         `json:"snoozedUntil"`
	Icon         *string         `json:"icon"`
	Color        *string         `json:"color"`
	Background   *string         `json:"background"`

	listedAt time.Time
	number   int64
}

type link struct {
	Mobile string  `json:"mobile"`
	Scheme *string `json:"scheme,omitempty"`
	Web    string  `json:"web"`
}

type page struct {
	Data        []item  `json:"data"`
	Pinned      []item  `json:"pinned"`
	UnreadCount int64   `json:"unreadCount"`
	Next        *string `json:"next"`
	LastEventID string  `json:"lastEventId"`
}

// The appearance of the workload's two event types, as defined in deploy/catalogs/drop.json5.
type look struct{ icon, color, background string }

var looks = map[string]look{
	"transaction_complete": {"ArrowUpRight", "#0B6E35", "#F0FDF4"},
	"security":             {"Smartphone", "#3B82F6", "#EFF6FF"},
}

var priorities = []string{"high", "normal", "low"}

func clients(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func items(rows pgx.Rows) ([]item, error) {
	defer rows.Close()
	found := []item{}
	for rows.Next() {
		var it item
		var urgency int64
		var created time.Time
		var snoozed *time.Time
		var web, mobile, scheme, data, metadata *string
		err := rows.Scan(&it.listedAt, &it.number, &it.Type, &it.Title, &it.Body, &urgency, &created, &it.Read, &it.Seen,
			&it.Archived, &snoozed, &it.VenueID, &web, &mobile, &scheme, &data,
			&it.TargetID, &metadata, &it.ImageURL, &it.ExpiresAt)
		if err != nil {
			return nil, err
		}
		it.ID = fmt.Sprintf("noti_%016x", uint64(it.number))
		it.Priority = priorities[urgency]
		it.CreatedAt = clients(created)
		if snoozed != nil {
			text := clients(*snoozed)
			it.SnoozedUntil = &text
		}
		it.PushVenueID = it.VenueID
		it.Data, it.Metadata = json.RawMessage("{}"), json.RawMessage("{}")
		if metadata != nil {
			it.Metadata = json.RawMessage(*metadata)
		}
		if web != nil && mobile != nil {
			it.Link = &link{*mobile, scheme, *web}
		}
		if data != nil {
			it.Data = json.RawMessage(*data)
		}
		if look, known := looks[it.Type]; known {
			it.Icon, it.Color, it.Background = &look.icon, &look.color, &look.background
		}
		found = append(found, it)
	}
	return found, rows.Err()
}

type claims struct {
	App      string  `json:"app"`
	Subject  string  `json:"sub"`
	Audience string  `json:"aud"`
	Expires  float64 `json:"exp"`
	Issued   float64 `json:"iat"`
}

// subject returns the hash by which a tombstone names the user.
func (c claims) subject() []byte {
	hash := sha256.Sum256([]byte("recipient\x00" + c.App + "\x00" + c.Subject))
	return hash[:16]
}

type server struct {
	pool *pgxpool.Pool
	keys map[string]*ecdsa.PublicKey
}

var errToken = errors.New("no valid bearer token")

func (s *server) signedIn(r *http.Request) (claims, error) {
	var said claims
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return said, errToken
	}
	var header struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
	}
	decoded := make([][]byte, 3)
	for i, part := range parts {
		bytes, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			return said, errToken
		}
		decoded[i] = bytes
	}
	if json.Unmarshal(decoded[0], &header) != nil || header.Algorithm != "ES256" || len(decoded[2]) != 64 {
		return said, errToken
	}
	key, known := s.keys[header.KeyID]
	if !known {
		return said, errToken
	}
	digest := sha256.Sum256([]byte(token[:len(parts[0])+1+len(parts[1])]))
	first, second := new(big.Int).SetBytes(decoded[2][:32]), new(big.Int).SetBytes(decoded[2][32:])
	if !ecdsa.Verify(key, digest[:], first, second) {
		return said, errToken
	}
	if json.Unmarshal(decoded[1], &said) != nil || said.Audience != "bellhop" ||
		float64(time.Now().Unix()) > said.Expires+60 {
		return said, errToken
	}
	return said, nil
}

// asked sends the queries as the user, in one round trip and one transaction.
func (s *server) asked(ctx context.Context, who claims, questions *pgx.Batch) (pgx.BatchResults, error) {
	results := s.pool.SendBatch(ctx, questions)
	if _, err := results.Exec(); err != nil {
		results.Close()
		return nil, err
	}
	return results, nil
}

func begun(who claims) *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue(signIn, who.App, who.Subject, who.subject(), time.UnixMicro(int64(who.Issued*1e6)))
	return batch
}

func (s *server) list(ctx context.Context, who claims, r *http.Request) (any, error) {
	limit := 20
	if text := r.URL.Query().Get("limit"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > 100 {
			return nil, errors.New("limit")
		}
		limit = number
	}
	batch := begun(who)
	beginning := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	batch.Queue(list, beginning, int64(math.MaxInt64), false, nil, int64(limit+1))
	batch.Queue(unread, []string{})
	batch.Queue(pinned)
	batch.Queue(settings, who.App, who.Subject)
	results, err := s.asked(ctx, who, batch)
	if err != nil {
		return nil, err
	}
	defer results.Close()
	var answer page
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	if answer.Data, err = items(rows); err != nil {
		return nil, err
	}
	if err = results.QueryRow().Scan(&answer.UnreadCount); err != nil {
		return nil, err
	}
	if rows, err = results.Query(); err != nil {
		return nil, err
	}
	if answer.Pinned, err = items(rows); err != nil {
		return nil, err
	}
	var state int64
	if err = results.QueryRow().Scan(&state); err != nil {
		return nil, err
	}
	if len(answer.Data) > limit {
		answer.Data = answer.Data[:limit]
		last := answer.Data[limit-1]
		var place [16]byte
		binary.BigEndian.PutUint64(place[:8], uint64(last.listedAt.UnixMicro()))
		binary.BigEndian.PutUint64(place[8:], uint64(last.number))
		next := base64.RawURLEncoding.EncodeToString(place[:])
		answer.Next = &next
	}
	answer.LastEventID = cursor(answer, state)
	return answer, nil
}

// cursor returns the place at which a stream of changes continues after this page.
func cursor(answer page, state int64) string {
	rows := answer.Data
	if len(rows) > 50 {
		rows = rows[:50]
	}
	top, id := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), int64(math.MinInt64)
	if len(rows) > 0 {
		top, id = rows[0].listedAt.UnixMicro(), rows[0].number
	}
	print := fnv.New64a()
	var row [24]byte
	for _, it := range rows {
		var marks uint64
		if it.Read {
			marks |= 1
		}
		if it.Seen {
			marks |= 2
		}
		binary.LittleEndian.PutUint64(row[:8], uint64(it.listedAt.UnixMicro()))
		binary.LittleEndian.PutUint64(row[8:16], uint64(it.number))
		binary.LittleEndian.PutUint64(row[16:], marks)
		print.Write(row[:])
	}
	known := uint64(state) & 0xffffff
	if known == 0 {
		known = 1
	}
	counts := known<<39 | uint64(len(rows))<<32 | uint64(uint32(answer.UnreadCount))
	if answer.Next == nil && len(rows) == len(answer.Data) {
		counts |= 1 << 63
	}
	var place [32]byte
	binary.BigEndian.PutUint64(place[:8], uint64(top))
	binary.BigEndian.PutUint64(place[8:16], uint64(id))
	binary.BigEndian.PutUint64(place[16:24], print.Sum64())
	binary.BigEndian.PutUint64(place[24:], counts)
	return base64.RawURLEncoding.EncodeToString(place[:])
}

func (s *server) unread(ctx context.Context, who claims, r *http.Request) (any, error) {
	batch := begun(who)
	batch.Queue(unread, []string{})
	results, err := s.asked(ctx, who, batch)
	if err != nil {
		return nil, err
	}
	defer results.Close()
	var count int64
	err = results.QueryRow().Scan(&count)
	return map[string]int64{"unreadCount": count}, err
}

func (s *server) mark(ctx context.Context, who claims, r *http.Request) (any, error) {
	var body struct {
		IDs []string `json:"notificationIds"`
	}
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 64*1024))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil || len(body.IDs) > 100 {
		return nil, errors.New("notificationIds")
	}
	numbers := make([]int64, len(body.IDs))
	for i, id := range body.IDs {
		bits, err := strconv.ParseUint(strings.TrimPrefix(id, "noti_"), 16, 64)
		if err != nil {
			return nil, err
		}
		numbers[i] = int64(bits)
	}
	batch := begun(who)
	batch.Queue(lock, who.App, who.Subject)
	batch.Queue(mark, numbers)
	results, err := s.asked(ctx, who, batch)
	if err != nil {
		return nil, err
	}
	defer results.Close()
	if _, err = results.Exec(); err != nil {
		return nil, err
	}
	tag, err := results.Exec()
	return map[string]int64{"updated": tag.RowsAffected()}, err
}

func (s *server) answer(w http.ResponseWriter, r *http.Request,
	make func(context.Context, claims, *http.Request) (any, error)) {
	who, err := s.signedIn(r)
	if err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, `{"error":{"code":"unauthorized"}}`, http.StatusUnauthorized)
		return
	}
	value, err := make(r.Context(), who, r)
	if err != nil {
		log.Print(err)
		http.Error(w, `{"error":{"code":"internal"}}`, http.StatusInternalServerError)
		return
	}
	bytes, err := json.Marshal(value)
	if err != nil {
		http.Error(w, `{"error":{"code":"internal"}}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(bytes)))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if _, isList := value.(page); isList {
		hash := sha256.Sum256(bytes)
		tag := `W/"` + base64.RawURLEncoding.EncodeToString(hash[:15]) + `"`
		w.Header().Set("ETag", tag)
		w.Header().Set("Vary", "Accept-Encoding")
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Write(bytes)
}

func readKeys(file string) (map[string]*ecdsa.PublicKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []struct{ Kid, X, Y string }
	}
	if err = json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	keys := map[string]*ecdsa.PublicKey{}
	for _, key := range set.Keys {
		x, errX := base64.RawURLEncoding.DecodeString(key.X)
		y, errY := base64.RawURLEncoding.DecodeString(key.Y)
		if errX != nil || errY != nil {
			return nil, errToken
		}
		keys[key.Kid] = &ecdsa.PublicKey{
			Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y),
		}
	}
	return keys, nil
}

func main() {
	log.SetFlags(0)
	configuration, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	configuration.MaxConns = 16
	configuration.ConnConfig.RuntimeParams["search_path"] = os.Getenv("SCHEMA")
	configuration.ConnConfig.RuntimeParams["role"] = "bellhop_api"
	configuration.ConnConfig.RuntimeParams["application_name"] = "peer"
	// The plans of Bellhop's connections.
	configuration.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	for _, off := range []string{"seqscan", "bitmapscan", "memoize", "sort"} {
		configuration.ConnConfig.RuntimeParams["enable_"+off] = "off"
	}
	configuration.ConnConfig.RuntimeParams["jit"] = "off"
	pool, err := pgxpool.ConnectConfig(context.Background(), configuration)
	if err != nil {
		log.Fatal(err)
	}
	keys, err := readKeys(os.Getenv("KEYS"))
	if err != nil {
		log.Fatal(err)
	}
	s := &server{pool: pool, keys: keys}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/notifications", func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			s.answer(w, r, s.list)
		case http.MethodPatch:
			s.answer(w, r, s.mark)
		default:
			http.Error(w, "", http.StatusMethodNotAllowed)
		}
	})
	mux.HandleFunc("/api/notifications/unread-count", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.unread)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening %d", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, mux))
}
