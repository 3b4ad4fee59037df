// The end of the script: what the component gets.

for (const [tag, words] of Object.entries(SETTINGS_WORDS)) Object.assign(WORDS[tag], words);
return { SettingsView, STYLES };
