import BellhopRules
import IntegrationSupport

extension InboxStage {
    /// A sunset over hills, in place of the pictures of other sites.
    static let picture = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96"><defs><linearGradient id="a" x2="0" y2="1">
        <stop stop-color="#ffb35c"/><stop offset="1" stop-color="#e4557b"/></linearGradient></defs>
        <path fill="url(#a)" d="M0 0h96v96H0z"/><circle cx="66" cy="36" r="13" fill="#ffe9b8"/>
        <path fill="#7a3b7c" d="M0 66c22-24 38-16 52-4s28 6 44-8v42H0z"/>
        <path fill="#42275f" d="M0 82c20-14 40-8 58-2s26 4 38-4v20H0z"/></svg>
        """

    /// A script that makes a page load this picture in place of any other.
    static let pictures = """
        const source = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, "src");
        Object.defineProperty(HTMLImageElement.prototype, "src", { set(address) { source.set.call(this, "/picture.svg"); } });
        """

    /// Writes notifications that show what a list can have: an important one, a picture, a stack, lines of text.
    ///
    /// A page's clock is set to `evening`.
    func deliverShowcase(to user: String = "ada") async throws {
        let offer = """
            Ingen gebyr på overføringer denne uken.
            Gjelder til Serbia, Bosnia-Hercegovina og Nord-Makedonia, frem til søndag kveld.
            """
        var letters = [
            Letter(
                type: "system",
                title: "Appen er oppdatert",
                body: "Nå kan du dele kvitteringer.",
                at: "2026-02-20T15:20:00Z",
                isRead: true
            ),
            Letter(
                type: "promotional",
                title: "Vintertilbud",
                body: offer,
                at: "2026-02-20T17:45:00Z",
                isRead: true,
                image: "https://pictures.example.com/hills.jpg"
            ),
        ]
        for (place, rate) in ["11.58", "11.61", "11.64", "11.66", "11.70"].enumerated() {
            letters.append(
                Letter(
                    type: "rate_update",
                    title: "Valutakurs oppdatert",
                    body: "1 NOK = \(rate) RSD",
                    at: "2026-02-21T0\(place + 4):45:00Z",
                    isRead: place < 2,
                    target: "NOK/RSD"
                )
            )
        }
        letters += [
            Letter(
                type: "qr_payment",
                title: "QR-betaling hos Ahmetov Kebab",
                body: "129 kr betalt",
                at: "2026-02-21T11:05:00Z",
                isRead: true
            ),
            Letter(),
            Letter(
                type: "security",
                title: "Ny pålogging fra iPhone 15",
                body: "Oslo, Norge. Var ikke dette deg?",
                at: "2026-02-21T18:10:00Z"
            ),
        ]
        for (number, letter) in letters.enumerated() { try await deliver(number + 1, letter, to: user) }
    }
}
