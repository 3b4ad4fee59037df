extension Operation {
    static let providers = [
        Operation(
            name: "providers",
            work: .reading { _, context in try await ProviderBoard(context).json }
        ),
        Operation(
            name: "provider-probe",
            fields: ["app", "provider"],
            work: .act { fields, consent, context in
                .done(try await ProviderProbe(fields, by: try consent.required, in: context).json)
            }
        ),
    ]
}
