/// The addresses that a transport may connect to.
///
/// The policy is applied after the name look-up, to the exact address of the connection.
package enum AddressPolicy: Hashable, Sendable {
    /// Any address; for endpoints from Bellhop's own configuration.
    case any

    /// Only public addresses; for endpoints from untrusted clients (Web Push).
    ///
    /// Such endpoints could otherwise direct Bellhop to machines inside its own network.
    case publicAddressesOnly

    package func allows(_ address: InternetAddress) -> Bool {
        switch self {
        case .any: true
        case .publicAddressesOnly: address.isPublic
        }
    }
}
