// A plain Go server with the route of workload W6: net/http, encoding/json and amqp091-go. It checks the token and the
// event, publishes with confirms on one channel, and answers 202 when the broker has confirmed.
package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	app   = "drop"
	limit = 256 << 10
)

type event struct {
	ID        string `json:"id"`
	App       string `json:"app"`
	EventType string `json:"eventType"`
	To        *struct {
		User  string   `json:"user"`
		Users []string `json:"users"`
		Topic string   `json:"topic"`
	} `json:"to"`
	Title string          `json:"title"`
	Body  string          `json:"body"`
	Data  json.RawMessage `json:"data"`
}

var types = map[string]bool{}

func (e *event) check() error {
	switch {
	case e.ID == "" || len(e.ID) > 255:
		return errors.New("id")
	case e.App != "" && e.App != app:
		return errors.New("app")
	case !types[e.EventType]:
		return errors.New("eventType")
	case e.To == nil || e.To.User == "" && len(e.To.Users) == 0 && e.To.Topic == "":
		return errors.New("to")
	case e.Title == "" || e.Body == "":
		return errors.New("title")
	}
	return nil
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"code": code}})
}

func main() {
	connection, err := amqp.Dial(os.Getenv("AMQP_URL"))
	if err != nil {
		log.Fatal(err)
	}
	channel, err := connection.Channel()
	if err != nil {
		log.Fatal(err)
	}
	if err := channel.Confirm(false); err != nil {
		log.Fatal(err)
	}
	for _, name := range strings.Split(os.Getenv("TYPES"), ",") {
		types[name] = true
	}
	exchange, hash := os.Getenv("EXCHANGE"), os.Getenv("TOKEN_HASH")

	http.HandleFunc("/api/events", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		if base64.RawURLEncoding.EncodeToString(sum[:]) != hash {
			fail(w, 401, "unauthorized")
			return
		}
		if r.Method != "POST" {
			fail(w, 405, "method-not-allowed")
			return
		}
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			fail(w, 415, "unsupported-media-type")
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
		if err != nil {
			fail(w, 413, "too-large")
			return
		}
		var e event
		if json.Unmarshal(body, &e) != nil {
			fail(w, 400, "malformed-json")
			return
		}
		if err := e.check(); err != nil {
			fail(w, 422, "invalid-field")
			return
		}
		message := amqp.Publishing{
			ContentType: "application/json", DeliveryMode: amqp.Persistent, MessageId: e.ID, Body: body,
		}
		confirm, err := channel.PublishWithDeferredConfirm(exchange, app+"."+e.EventType, true, false, message)
		if err != nil || !confirm.Wait() {
			fail(w, 503, "unavailable")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(202)
		io.WriteString(w, `{"accepted":1}`)
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	log.SetFlags(0)
	log.Printf("listening %d", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal((&http.Server{ReadHeaderTimeout: 20 * time.Second}).Serve(listener))
}
