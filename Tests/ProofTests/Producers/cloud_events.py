"""The same as CloudEvents 1.0, once structured (one JSON document) and once binary (attributes as headers)."""
import json, os, pika

namespace = os.environ.get("BELLHOP_NAMESPACE", "bellhop")
attributes = {"specversion": "1.0", "source": "/bank", "type": "transaction_complete"}
data = {
    "to": {"user": "ada"},
    "data": {"recipient": "Mama Jasmina", "amount": "2 000 kr", "country": "Serbia"},
}

connection = pika.BlockingConnection(pika.URLParameters(os.environ["BELLHOP_AMQP_URL"]))
channel = connection.channel()
channel.confirm_delivery()


def publish(body, content_type, headers=None):
    properties = pika.BasicProperties(content_type=content_type, headers=headers, delivery_mode=2)  # 2: persistent
    channel.basic_publish(
        f"{namespace}.events", "drop.transaction_complete", json.dumps(body), properties, mandatory=True
    )


publish({**attributes, "id": "structured", "data": data}, "application/cloudevents+json")
publish(data, "application/json", {f"cloudEvents:{name}": value for name, value in attributes.items()} | {"cloudEvents:id": "binary"})
connection.close()
