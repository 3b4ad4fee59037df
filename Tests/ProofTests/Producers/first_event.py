import json, os, pika

namespace = os.environ.get("BELLHOP_NAMESPACE", "bellhop")
event = {
    "id": "evt_1",                      # yours, unique within the app: sent again, it is recognised
    "to": {"user": "ada"},
    "data": {"recipient": "Mama Jasmina", "amount": "2 000 kr", "country": "Serbia"},
    "targetId": "tx_rem_1",
}

connection = pika.BlockingConnection(pika.URLParameters(os.environ["BELLHOP_AMQP_URL"]))
channel = connection.channel()
channel.confirm_delivery()              # from here on, publishing fails unless the broker has the event
channel.basic_publish(
    exchange=f"{namespace}.events",
    routing_key="drop.transaction_complete",
    body=json.dumps(event),
    properties=pika.BasicProperties(content_type="application/json", delivery_mode=pika.DeliveryMode.Persistent),
    mandatory=True,
)
connection.close()
