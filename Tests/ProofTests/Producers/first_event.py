import json
import os

import pika

connection = pika.BlockingConnection(pika.URLParameters(os.environ["BELLHOP_AMQP_URL"]))
channel = connection.channel()
channel.confirm_delivery()  # basic_publish waits for the confirm and raises an error if the broker refuses
event = {
    "id": "first-1",  # yours, unique within the app: the same id again is the same event
    "to": {"user": "ada"},
    "data": {"recipient": "Mama Jasmina", "amount": "2 000 kr", "country": "Serbia"},
    "targetId": "tx_rem_1",
}
channel.basic_publish(
    exchange=os.environ.get("BELLHOP_NAMESPACE", "bellhop") + ".events",
    routing_key="drop.transaction_complete",  # app and event type
    body=json.dumps(event),
    properties=pika.BasicProperties(content_type="application/json", delivery_mode=2),  # 2: persistent
    mandatory=True,
)
connection.close()
print("published, and confirmed by the broker")
