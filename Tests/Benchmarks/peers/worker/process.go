package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// The steps of a batch.
type worker struct {
	store  *store
	pusher *pusher
}

// process records, pushes and settles all events of a batch. Events that are already recorded have no effect.
func (w *worker) process(ctx context.Context, messages []amqp.Delivery) error {
	all, err := readAll(messages)
	if err != nil {
		return err
	}
	if err := w.addPeople(ctx, all); err != nil {
		return err
	}
	now := time.Now()
	for _, n := range all {
		n.decide(now)
	}
	// Two batches with common keys wait for each other and do not deadlock.
	sort.Slice(all, func(i, j int) bool { return all[i].number < all[j].number })
	fresh, err := w.store.record(ctx, all)
	if err != nil {
		return err
	}
	var pushes []*push
	for _, n := range all {
		if !fresh[n.number] || n.unsent != "" {
			continue
		}
		for _, device := range n.person.devices {
			pushes = append(pushes, &push{notification: n, device: device})
		}
	}
	if len(pushes) == 0 {
		return nil
	}
	w.pusher.send(ctx, pushes)
	return w.store.settle(ctx, pushes)
}

// readAll parses the events, each id once.
func readAll(messages []amqp.Delivery) ([]*notification, error) {
	all := make([]*notification, 0, len(messages))
	known := make(map[int64]bool, len(messages))
	for i := range messages {
		n, err := read(messages[i].Body)
		if err != nil {
			return nil, err
		}
		if !known[n.number] {
			known[n.number] = true
			all = append(all, n)
		}
	}
	return all, nil
}

func (w *worker) addPeople(ctx context.Context, all []*notification) error {
	users := make([]string, 0, len(all))
	named := make(map[string]bool, len(all))
	for _, n := range all {
		if !named[n.To.User] {
			named[n.To.User] = true
			users = append(users, n.To.User)
		}
	}
	people, err := w.store.people(ctx, users)
	if err != nil {
		return err
	}
	for _, n := range all {
		if n.person = people[n.To.User]; n.person == nil {
			return fmt.Errorf("unknown user of event %q", n.ID)
		}
	}
	return nil
}
