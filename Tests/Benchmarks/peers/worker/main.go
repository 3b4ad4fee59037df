// A plain Go worker for workload W1: amqp091-go, pgx, and the HTTP/2 client of net/http. It consumes events in batches
// of up to 256, looks up their users, renders the texts, decides, records with one statement, pushes, settles with one
// statement, and acknowledges. It has its own tables. docs/benchmark-peers.md lists what it does not do.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	batchSize = 256
	prefetch  = 1024
	// Batches whose steps may overlap: while one waits for the database, another pushes.
	overlap = 3
	// Collections begin when the heap has grown by this, in percent: a batch makes much garbage and keeps little.
	heapGrowth = 400
)

// A batch of messages. done is closed when all of its events are recorded and settled.
type batch struct {
	messages []amqp.Delivery
	done     chan struct{}
}

func main() {
	log.SetFlags(0)
	debug.SetGCPercent(heapGrowth)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	store, err := openStore(ctx, os.Getenv("DATABASE_URL"), os.Getenv("SCHEMA"))
	if err != nil {
		log.Fatal("opening the database: ", err)
	}
	pusher, err := newPusher(os.Getenv("PUSH_URL"), os.Getenv("PUSH_CA"), os.Getenv("ACCESS_TOKEN"))
	if err != nil {
		log.Fatal("reading the authority: ", err)
	}
	patience, err := strconv.Atoi(os.Getenv("PATIENCE_MS"))
	if err != nil {
		log.Fatal("reading PATIENCE_MS: ", err)
	}
	connection, err := amqp.Dial(os.Getenv("AMQP_URL"))
	if err != nil {
		log.Fatal("connecting to the broker: ", err)
	}
	channel, err := connection.Channel()
	if err != nil {
		log.Fatal("opening a channel: ", err)
	}
	if err := channel.Qos(prefetch, 0, false); err != nil {
		log.Fatal("setting the prefetch: ", err)
	}
	messages, err := channel.Consume(os.Getenv("QUEUE"), "", false, false, false, false, nil)
	if err != nil {
		log.Fatal("consuming: ", err)
	}
	log.Print("consuming")

	worker := worker{store, pusher}
	slots := make(chan struct{}, overlap)
	running := make(chan batch, overlap)
	acknowledged := make(chan struct{})
	go acknowledge(running, acknowledged)
	for {
		gathered := gather(ctx, messages, time.Duration(patience)*time.Millisecond)
		if len(gathered) == 0 {
			break
		}
		next := batch{gathered, make(chan struct{})}
		slots <- struct{}{}
		running <- next
		go func() {
			// A batch that fails ends the process: the broker delivers its messages again.
			if err := worker.process(context.Background(), next.messages); err != nil {
				log.Fatal("processing a batch: ", err)
			}
			close(next.done)
			<-slots
		}()
	}
	if ctx.Err() == nil {
		log.Fatal("the broker closed the channel")
	}
	close(running)
	<-acknowledged
	connection.Close()
}

// gather waits for a message and returns it with those that follow within patience; none if the worker must end.
func gather(ctx context.Context, messages <-chan amqp.Delivery, patience time.Duration) []amqp.Delivery {
	var gathered []amqp.Delivery
	select {
	case message, ok := <-messages:
		if !ok {
			return nil
		}
		gathered = append(make([]amqp.Delivery, 0, batchSize), message)
	case <-ctx.Done():
		return nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for len(gathered) < batchSize {
		select {
		case message, ok := <-messages:
			if !ok {
				return gathered
			}
			gathered = append(gathered, message)
		case <-timer.C:
			return gathered
		}
	}
	return gathered
}

// acknowledge acknowledges batches in their order, each with one frame.
func acknowledge(running <-chan batch, finished chan<- struct{}) {
	for batch := range running {
		<-batch.done
		if err := batch.messages[len(batch.messages)-1].Ack(true); err != nil {
			log.Fatal("acknowledging: ", err)
		}
	}
	close(finished)
}
