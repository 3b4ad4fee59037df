package main

import (
	"encoding/json"
	"time"
)

// A user's row of people.
type person struct {
	number      int64
	user        string
	pushEnabled bool
	zone        *time.Location
	preferences preferences
	devices     []device
}

type preferences struct {
	Enabled      *bool           `json:"enabled"`
	EventToggles map[string]bool `json:"eventToggles"`
	QuietHours   struct {
		Enabled   bool `json:"enabled"`
		StartHour int  `json:"startHour"`
		EndHour   int  `json:"endHour"`
	} `json:"quietHours"`
}

// A device of FCM.
type device struct {
	target int64
	token  string
}

// UnmarshalJSON reads [id, token, platform, provider, permission, …].
func (d *device) UnmarshalJSON(text []byte) error {
	var fields []any
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	if len(fields) < 5 || fields[3] != "fcm" || fields[4] != "granted" {
		return nil
	}
	id, _ := fields[0].(string)
	d.token, _ = fields[1].(string)
	var err error
	d.target, err = targetNumber(id)
	return err
}

// decide sets the reason if the notification must not be pushed now.
func (n *notification) decide(now time.Time) {
	p := n.person
	wanted, chosen := p.preferences.EventToggles[n.EventType]
	if !chosen {
		wanted = n.kind.pushes
	}
	switch {
	case !wanted:
		n.unsent = "type-muted"
	case !p.pushEnabled || p.preferences.Enabled != nil && !*p.preferences.Enabled:
		n.unsent = "push-disabled"
	case p.isQuiet(now):
		n.unsent = "quiet-hours"
	case len(p.devices) == 0:
		n.unsent = "no-device"
	}
}

// isQuiet reports whether it is within the quiet hours on the user's clock.
func (p *person) isQuiet(now time.Time) bool {
	quiet := p.preferences.QuietHours
	if !quiet.Enabled {
		return false
	}
	hour := now.In(p.zone).Hour()
	if quiet.StartHour <= quiet.EndHour {
		return quiet.StartHour <= hour && hour < quiet.EndHour
	}
	return quiet.StartHour <= hour || hour < quiet.EndHour
}
