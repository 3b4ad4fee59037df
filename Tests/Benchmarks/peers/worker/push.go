package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// One notification to one device, and its outcome.
type push struct {
	*notification
	device              device
	state, reason, name string
}

type fcmRequest struct {
	Message fcmMessage `json:"message"`
}

type fcmMessage struct {
	Token        string            `json:"token"`
	Notification fcmTexts          `json:"notification"`
	Data         map[string]string `json:"data"`
	Android      fcmAndroid        `json:"android"`
}

type fcmTexts struct {
	Title string `json:"title"`
	Body  string `json:"body,omitempty"`
}

type fcmAndroid struct {
	Priority     string   `json:"priority"`
	Notification fcmLooks `json:"notification"`
}

type fcmLooks struct {
	Tag        string `json:"tag"`
	ChannelID  string `json:"channel_id"`
	Importance string `json:"notification_priority"`
	Sound      string `json:"sound"`
	Color      string `json:"color"`
}

// request returns the request's body, with the members that Bellhop sends.
func (p *push) request() ([]byte, error) {
	data := make(map[string]string, len(p.Data)+9)
	for name, value := range p.Data {
		text, isText := value.(string)
		if !isText {
			written, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			text = string(written)
		}
		data[name] = text
	}
	set := func(name, value string) {
		if value != "" {
			data[name] = value
		}
	}
	id := p.id()
	set("notificationId", id)
	set("type", p.EventType)
	set("eventType", p.EventType)
	set("route", p.mobile)
	set("link", p.web)
	set("scheme", p.scheme)
	set("targetId", p.TargetID)
	set("sentAtIso", p.SentAtISO)
	if len(p.Metadata) > 0 {
		metadata, err := json.Marshal(p.Metadata)
		if err != nil {
			return nil, err
		}
		set("metadata", string(metadata))
	}
	return json.Marshal(fcmRequest{fcmMessage{
		Token:        p.device.token,
		Notification: fcmTexts{p.title, p.text},
		Data:         data,
		Android: fcmAndroid{"HIGH", fcmLooks{
			Tag: id, ChannelID: p.kind.channel, Importance: p.kind.importance, Sound: "default", Color: p.kind.color,
		}},
	}})
}

// Sends pushes to FCM's HTTP v1 API.
type pusher struct {
	client        *http.Client
	url           string
	authorization string
	// Requests in flight.
	slots chan struct{}
}

func newPusher(url, authorityFile, token string) (*pusher, error) {
	authorities, err := os.ReadFile(authorityFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authorities) {
		return nil, errors.New("no certificate in " + authorityFile)
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, DisableCompression: true,
	}
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	return &pusher{client, url, "Bearer " + token, make(chan struct{}, 512)}, nil
}

// send sends all pushes at the same time and notes their outcomes.
func (p *pusher) send(ctx context.Context, pushes []*push) {
	var all sync.WaitGroup
	all.Add(len(pushes))
	for _, one := range pushes {
		p.slots <- struct{}{}
		go func(one *push) {
			defer all.Done()
			defer func() { <-p.slots }()
			name, err := p.sendOne(ctx, one)
			if err != nil {
				one.state, one.reason = "f", err.Error()
				return
			}
			one.state, one.name = "d", name
		}(one)
	}
	all.Wait()
}

func (p *pusher) sendOne(ctx context.Context, one *push) (string, error) {
	body, err := one.request()
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", p.authorization)
	request.Header.Set("Content-Type", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", errors.New("status " + strconv.Itoa(response.StatusCode))
	}
	var accepted struct {
		Name string `json:"name"`
	}
	return accepted.Name, json.Unmarshal(answer, &accepted)
}
