#!/bin/sh
# Makes testdata/speech: synthetic sentences in the words of the fixture models, 16 kHz mono 16-bit, with 0.3 s of
# silence at both ends, and their reference texts. Needs Debian: espeak-ng sox.
set -eu
cd "$(dirname "$0")/../testdata/speech"
: > transcription
say() { # NAME VOICE SPEED TEXT
  espeak-ng -v "$2" -s "$3" --stdout "$4" | sox -D -t wav - -r 16000 -c 1 -b 16 "$1.wav" gain -n -6 pad 0.3 0.3
  echo "$4 ($1)" >> transcription
}
say hello-operator en-us+m5 150 "hello operator"
say transfer-sales-wait en-us+m1 140 "transfer sales wait"
say transfer-digits en-us+m5 150 "transfer three five seven nine"
say cancel-payment en-us+m3 150 "cancel payment goodbye"
say account-balance en-gb+f2 145 "account balance one two six"
say close-menu en-us+f1 140 "close mobile menu no help agent"
