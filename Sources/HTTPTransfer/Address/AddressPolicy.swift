/// Which addresses a transport may connect to, judged after the name look-up, on the very address of the connection.
package enum AddressPolicy: Hashable, Sendable {
    /// Any; for endpoints that come from our own configuration.
    case any

    /// Public ones only; for endpoints that strangers hand in (Web Push), which could otherwise make us talk to
    /// machines inside our own network.
    case publicAddressesOnly

    package func allows(_ address: InternetAddress) -> Bool {
        switch self {
        case .any: true
        case .publicAddressesOnly: address.isPublic
        }
    }
}
