package import AMQP
import ServiceRuntime
package import Settings

extension BellhopConfiguration {
    /// Returns the broker's address, or throws if none is configured.
    package func broker() throws -> BrokerAddress {
        guard let amqpURL else { throw CommandFailure.missing(.amqpURL) }
        return try BrokerAddress(validating: amqpURL.revealed)
    }
}
