package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

const (
	app             = "drop"
	defaultTimezone = "Europe/Oslo"
)

// An event as producers publish it.
type event struct {
	ID        string `json:"id"`
	App       string `json:"app"`
	EventType string `json:"eventType"`
	To        struct {
		User string `json:"user"`
	} `json:"to"`
	Data      map[string]any    `json:"data"`
	TargetID  string            `json:"targetId"`
	Metadata  map[string]string `json:"metadata"`
	SentAtISO string            `json:"sentAtIso"`
}

// A notification: an event, its user and its texts.
type notification struct {
	event
	kind   *kind
	number int64
	person *person
	// The texts of the push.
	title, text string
	// The target of a tap.
	web, mobile, scheme string
	// The event's data, as JSON.
	data string
	// Why there is no push; empty if there is one.
	unsent string
}

// id returns the id that a push contains, the same for every repeat.
func (n *notification) id() string { return fmt.Sprintf("noti_%016x", uint64(n.number)) }

// A type of deploy/catalogs/drop.json5.
type kind struct {
	channel, importance, color       string
	pushes                           bool
	title, body, web, mobile, scheme template
}

// A template in pieces: texts at even places, names of values at odd ones.
type template []string

func parse(text string) template {
	var pieces template
	for {
		before, rest, found := strings.Cut(text, "{")
		pieces = append(pieces, before)
		if !found {
			return pieces
		}
		name, after, _ := strings.Cut(rest, "}")
		pieces = append(pieces, name)
		text = after
	}
}

// render inserts the values, percent-encoded in links.
func (t template) render(value func(string) (string, bool), encode func(string) string) (string, error) {
	var out strings.Builder
	for place, piece := range t {
		if place%2 == 0 {
			out.WriteString(piece)
			continue
		}
		text, found := value(piece)
		if !found {
			return "", errors.New("no value " + piece)
		}
		out.WriteString(encode(text))
	}
	return out.String(), nil
}

func plain(text string) string { return text }

func transaction(color, title, body string) *kind {
	return &kind{
		channel: "transactions", importance: "PRIORITY_DEFAULT", color: color, pushes: true, title: parse(title),
		body: parse(body), web: parse("/transactions?id={txId}"), mobile: parse("/(tabs)/history?id={txId}"),
		scheme: parse("drop://transactions/{txId}"),
	}
}

var kinds = map[string]*kind{
	"transaction_complete": transaction("#0B6E35", "Overføring til {recipient} fullført",
		"{amount} sendt til {country}"),
	"qr_payment": transaction("#D4A017", "QR-betaling hos {merchant}", "{amount} betalt"),
}

// read parses an event and renders its texts.
func read(message []byte) (*notification, error) {
	n := &notification{}
	if err := json.Unmarshal(message, &n.event); err != nil {
		return nil, err
	}
	kind, known := kinds[n.EventType]
	if n.ID == "" || n.App != app || !known || n.To.User == "" {
		return nil, fmt.Errorf("event %q is not for this worker", n.ID)
	}
	n.kind = kind
	sum := sha256.Sum256([]byte(n.To.User + " " + n.ID))
	n.number = int64(binary.BigEndian.Uint64(sum[:8]))
	return n, n.render()
}

// render fills the texts, the links and the data's JSON.
func (n *notification) render() error {
	value := func(name string) (string, bool) {
		if name == "txId" {
			return n.TargetID, n.TargetID != ""
		}
		text, found := n.Data[name].(string)
		return text, found
	}
	parts := []struct {
		to     *string
		from   template
		encode func(string) string
	}{
		{&n.title, n.kind.title, plain}, {&n.text, n.kind.body, plain}, {&n.web, n.kind.web, url.PathEscape},
		{&n.mobile, n.kind.mobile, url.PathEscape}, {&n.scheme, n.kind.scheme, url.PathEscape},
	}
	for _, part := range parts {
		text, err := part.from.render(value, part.encode)
		if err != nil {
			return fmt.Errorf("event %q: %w", n.ID, err)
		}
		*part.to = text
	}
	data, err := json.Marshal(n.Data)
	n.data = string(data)
	return err
}
