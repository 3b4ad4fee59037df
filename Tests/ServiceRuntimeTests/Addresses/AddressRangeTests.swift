import ServiceRuntime
import Testing

@Suite("Ranges of addresses")
struct AddressRangeTests {
    @Test(
        "an address is in a range with the same leading bits",
        arguments: [
            ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.6", false), ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false),
            ("::1", "::1", true), ("::1", "::2", false), ("fd00::/8", "fdff::1", true), ("fd00::/8", "fe00::1", false),
            ("2001:db8::/96", "2001:db8::7", true), ("2001:db8::/96", "2001:db8::1:0:7", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true), ("10.0.0.0/8", "10.1.2.3:4711", true),
            ("fd00::/8", "[fd00::1]:4711", true), ("::/0", "2001:db8::7", true),
        ] as [(String, String, Bool)]
    )
    func contains(range: String, address: String, isIn: Bool) throws {
        let range = try #require(AddressRange(range))
        let address = try #require(InternetAddress(address))
        #expect(range.contains(address) == isIn)
    }

    @Test(
        "an address is shown in its usual notation",
        arguments: ["192.0.2.7", "0.0.0.0", "2001:db8::7", "::1", "fe80::1:2:3:4"]
    )
    func description(text: String) throws {
        let address = try #require(InternetAddress(text))
        #expect(address.description == text)
    }

    @Test(
        "an invalid address or range is rejected",
        arguments: ["", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "host", "1.2.3", "10.0.0.0/8/8"]
    )
    func refused(text: String) {
        #expect(AddressRange(text) == nil)
    }
}
